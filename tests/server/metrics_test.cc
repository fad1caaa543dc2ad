// The counters against sums taken from the packs themselves.

#include "server/metrics.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/plan.h"
#include "packhouse/spec.h"
#include "session/server_session.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

// The samples of a scrape by name with labels.
std::map<std::string, double> Scrape(const Metrics& metrics) {
  std::map<std::string, double> samples;
  for (absl::string_view line : absl::StrSplit(metrics.Serialize(), '\n')) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> parts = absl::StrSplit(line, ' ');
    double value = 0;
    EXPECT_TRUE(parts.size() == 2 && absl::SimpleAtod(parts[1], &value))
        << line;
    EXPECT_TRUE(samples.emplace(parts[0], value).second) << line;
  }
  return samples;
}

// What the counters must say, counted pack by pack.
struct Expected {
  double sequences = 0;
  double tokens = 0;
  double packs = 0;
  double slots = 0;
  double tail = 0;
  double alignment = 0;
  double batches = 0;
  double refused = 0;
  double pending = 0;
  double packed = 0;
  double abandoned = 0;
  double abandoned_tokens = 0;

  void AddPacks(const Packs& list, const std::vector<uint32_t>& lengths,
                const PackSpec& spec) {
    for (size_t i = 0; i < list.size(); ++i) {
      double room = static_cast<double>(spec.capacity_tokens);
      for (const uint64_t ordinal : list[i]) {
        const uint64_t footprint = Footprint(spec, lengths[ordinal]);
        room -= static_cast<double>(footprint);
        alignment += static_cast<double>(footprint - lengths[ordinal]);
        --pending;
        ++packed;
      }
      packs += 1;
      slots += static_cast<double>(spec.capacity_tokens);
      tail += room;
    }
  }
};

void ExpectScrape(const Metrics& metrics, const Expected& expected) {
  std::map<std::string, double> samples = Scrape(metrics);
  EXPECT_EQ(samples["packhouse_sequences_total"], expected.sequences);
  EXPECT_EQ(samples["packhouse_tokens_total"], expected.tokens);
  EXPECT_EQ(samples["packhouse_packs_total"], expected.packs);
  EXPECT_EQ(samples["packhouse_slot_tokens_total"], expected.slots);
  EXPECT_EQ(samples["packhouse_waste_tokens_total{cause=\"tail\"}"],
            expected.tail);
  EXPECT_EQ(samples["packhouse_waste_tokens_total{cause=\"alignment\"}"],
            expected.alignment);
  EXPECT_EQ(samples["packhouse_batches_total"], expected.batches);
  EXPECT_EQ(samples["packhouse_refused_batches_total"], expected.refused);
  EXPECT_EQ(samples["packhouse_pending_units"], expected.pending);
  EXPECT_EQ(samples["packhouse_packed_units_total"], expected.packed);
  EXPECT_EQ(samples["packhouse_abandoned_units_total"], expected.abandoned);
  EXPECT_EQ(samples["packhouse_abandoned_tokens_total"],
            expected.abandoned_tokens);
}

// After every single request, for windows that end anywhere in a batch.
TEST(StreamMeter, ExactAfterEveryRequest) {
  std::mt19937 random(7);
  Metrics metrics;
  Expected expected;
  for (int stream = 0; stream < 60; ++stream) {
    SCOPED_TRACE(stream);
    PackSpec spec;
    spec.capacity_tokens = 64;
    spec.algorithm = stream % 2 == 0 ? "spfhp" : "lpfhp";
    spec.window_sequences = 1 + static_cast<int64_t>(random() % 40);
    spec.sequence_alignment =
        stream % 3 == 0 ? 1 : 1 + static_cast<int64_t>(random() % 16);
    std::vector<uint32_t> lengths;  // of this stream, by ordinal
    std::vector<bool> packed;       // likewise

    ServerSession session(SessionLimits(), 1);
    StreamMeter meter(&metrics);
    uint64_t number = 0;
    auto receive = [&](const Request& request) {
      std::vector<Response> responses;
      ASSERT_THAT(session.Receive(request, &responses), IsOk());
      meter.Update(session);
      for (const Response& response : responses) {
        if (const auto* list = std::get_if<PackList>(&response.event)) {
          expected.AddPacks(list->packs, lengths, spec);
          packed.resize(lengths.size());
          for (const uint64_t ordinal : list->packs.ordinals) {
            packed[ordinal] = true;
          }
        }
      }
      ExpectScrape(metrics, expected);
    };

    Open open;
    open.spec = spec;
    receive(open);
    for (int i = 0; i < 20; ++i) {
      Batch batch;
      batch.number = ++number;
      batch.lengths.resize(random() % 50);
      for (uint32_t& length : batch.lengths) length = 1 + random() % 48;
      if (random() % 5 == 0) {
        batch.lengths.push_back(65);  // over-long: refused whole
        expected.refused += 1;
      } else {
        expected.batches += 1;
        for (const uint32_t length : batch.lengths) {
          lengths.push_back(length);
          expected.sequences += 1;
          expected.tokens += length;
          expected.pending += 1;
        }
      }
      receive(batch);
      if (random() % 4 == 0) receive(Flush{++number});
    }
    if (stream % 4 == 0) {
      meter.End(absl::StatusCode::kCancelled);
      packed.resize(lengths.size());
      for (size_t i = 0; i < lengths.size(); ++i) {
        if (packed[i]) continue;
        expected.pending -= 1;
        expected.abandoned += 1;
        expected.abandoned_tokens += lengths[i];
      }
      EXPECT_EQ(expected.pending, 0);
    } else {
      receive(End{++number});
      EXPECT_EQ(expected.pending, 0);
      meter.End(absl::StatusCode::kOk);
    }
    ExpectScrape(metrics, expected);
  }
  std::map<std::string, double> samples = Scrape(metrics);
  EXPECT_EQ(samples["packhouse_streams"], 0);
  EXPECT_EQ(samples["packhouse_streams_started_total"], 60);
  EXPECT_EQ(samples["packhouse_streams_ended_total{code=\"OK\"}"], 45);
  EXPECT_EQ(samples["packhouse_streams_ended_total{code=\"CANCELLED\"}"], 15);
  EXPECT_GT(samples["packhouse_abandoned_units_total"], 0);
  EXPECT_EQ(samples["packhouse_sequences_total"],
            samples["packhouse_packed_units_total"] +
                samples["packhouse_abandoned_units_total"]);
  EXPECT_EQ(samples["packhouse_tokens_total"],
            samples["packhouse_slot_tokens_total"] -
                samples["packhouse_waste_tokens_total{cause=\"tail\"}"] -
                samples["packhouse_waste_tokens_total{cause=\"alignment\"}"] +
                samples["packhouse_abandoned_tokens_total"]);
}

// What the header promises, of a scrape between two requests.
void ExpectBalance(const Metrics& metrics) {
  std::map<std::string, double> samples = Scrape(metrics);
  const auto total = [&samples](const char* name) {
    return samples.at(std::string("packhouse_") + name);
  };
  EXPECT_EQ(total("sequences_total") + total("extra_pieces_total") +
                total("resumed_units_total"),
            total("packed_units_total") + total("replayed_units_total") +
                total("pending_units") + total("abandoned_units_total") +
                total("dropped_sequences_total{reason=\"overlong\"}") +
                total("dropped_sequences_total{reason=\"empty\"}"));
}

// A stream is cut again and again and goes on from its last snapshot; the
// client has more packs by then than the snapshot covers.
TEST(StreamMeter, BalanceHoldsWhereStreamsGoOn) {
  std::mt19937 random(11);
  Metrics metrics;
  PackSpec spec;
  spec.capacity_tokens = 64;
  spec.window_sequences = 20;
  spec.overlong = Overlong::kSplit;
  spec.empty = Empty::kDrop;
  std::vector<Batch> inputs;
  for (uint64_t number = 1; number <= 200; ++number) {
    Batch batch;
    batch.number = number;
    batch.lengths.resize(random() % 30);
    for (uint32_t& length : batch.lengths) length = random() % 150;
    inputs.push_back(batch);
  }
  absl::optional<Snapshot> last;
  uint64_t received_packs = 0;
  uint64_t most = 0;
  while (most < inputs.size()) {
    ServerSession session(SessionLimits(), 1);
    StreamMeter meter(&metrics);
    const auto update = [&](const std::vector<Response>& responses) {
      for (const Response& response : responses) {
        if (const auto* list = std::get_if<PackList>(&response.event)) {
          EXPECT_EQ(list->first_number, received_packs + 1);
          received_packs += list->packs.size();
        }
        if (const auto* snapshot = std::get_if<Snapshot>(&response.event)) {
          last = *snapshot;
        }
      }
      meter.Update(session);
      ExpectBalance(metrics);
    };
    std::vector<Response> responses;
    Open open;
    open.spec = spec;
    open.resume = Resume{last.has_value() ? last->state : "", received_packs};
    ASSERT_THAT(session.Receive(open, &responses), IsOk());
    update(responses);
    const uint64_t begin = last.has_value() ? last->received_number : 0;
    const uint64_t end =
        std::min<uint64_t>(inputs.size(), most + 1 + random() % 20);
    for (uint64_t i = begin; i < end; ++i) {
      responses.clear();
      ASSERT_THAT(session.Receive(inputs[i], &responses), IsOk());
      if (random() % 10 == 0) session.AppendSnapshot(&responses);
      update(responses);
    }
    most = std::max(most, end);
    if (most == inputs.size()) {
      responses.clear();
      ASSERT_THAT(session.Receive(End{most + 1}, &responses), IsOk());
      update(responses);
    }
    meter.End(absl::StatusCode::kOk);
    ExpectBalance(metrics);
  }
  std::map<std::string, double> samples = Scrape(metrics);
  EXPECT_GT(samples["packhouse_resumed_units_total"], 0);
  EXPECT_GT(samples["packhouse_replayed_units_total"], 0);
  EXPECT_GT(samples["packhouse_snapshots_total"], 0);
  EXPECT_GT(samples["packhouse_snapshot_bytes_total"],
            samples["packhouse_snapshots_total"]);
  // Each pack counts once, however often it was decided.
  EXPECT_EQ(samples["packhouse_packs_total"], received_packs);
  EXPECT_EQ(samples["packhouse_tokens_total"] +
                samples["packhouse_resumed_tokens_total"],
            samples["packhouse_slot_tokens_total"] -
                samples["packhouse_waste_tokens_total{cause=\"tail\"}"] -
                samples["packhouse_waste_tokens_total{cause=\"alignment\"}"] +
                samples["packhouse_replayed_tokens_total"] +
                samples["packhouse_abandoned_tokens_total"] +
                samples["packhouse_truncated_tokens_total"] +
                samples["packhouse_dropped_tokens_total"]);
}

TEST(Metrics, Load) {
  Metrics metrics;
  MemoryBudget memory(1000);
  const auto share = memory.Take(300);
  metrics.SetLoad({4, 3, 7}, memory);
  metrics.CountWait(absl::Milliseconds(2));
  metrics.CountWait(absl::Seconds(20));
  metrics.CountResumed();
  metrics.CountDrained();
  std::map<std::string, double> samples = Scrape(metrics);
  EXPECT_EQ(samples["packhouse_memory_committed_bytes"], 300);
  EXPECT_EQ(samples["packhouse_memory_limit_bytes"], 1000);
  EXPECT_EQ(samples["packhouse_pool_threads"], 4);
  EXPECT_EQ(samples["packhouse_pool_busy_threads"], 3);
  EXPECT_EQ(samples["packhouse_pool_queued_jobs"], 7);
  EXPECT_EQ(samples["packhouse_pool_wait_seconds_bucket{le=\"0.001\"}"], 0);
  EXPECT_EQ(samples["packhouse_pool_wait_seconds_bucket{le=\"0.01\"}"], 1);
  EXPECT_EQ(samples["packhouse_pool_wait_seconds_bucket{le=\"+Inf\"}"], 2);
  EXPECT_EQ(samples["packhouse_resumed_streams_total"], 1);
  EXPECT_EQ(samples["packhouse_drained_streams_total"], 1);
}

TEST(Metrics, StreamsByCode) {
  Metrics metrics;
  for (const char* code :
       {"OK", "CANCELLED", "INVALID_ARGUMENT", "FAILED_PRECONDITION",
        "OUT_OF_RANGE", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "ABORTED",
        "DEADLINE_EXCEEDED", "UNKNOWN"}) {
    const std::string name =
        std::string("packhouse_streams_ended_total{code=\"") + code + "\"}";
    EXPECT_THAT(Scrape(metrics), testing::Contains(testing::Pair(name, 0)));
  }
  StreamMeter refused(&metrics);
  StreamMeter odd(&metrics);
  StreamMeter open(&metrics);
  refused.End(absl::StatusCode::kInvalidArgument);
  odd.End(absl::StatusCode::kDataLoss);  // no code of the protocol
  std::map<std::string, double> samples = Scrape(metrics);
  EXPECT_EQ(samples["packhouse_streams"], 1);
  EXPECT_EQ(samples["packhouse_streams_started_total"], 3);
  EXPECT_EQ(samples["packhouse_streams_ended_total{code=\"INVALID_ARGUMENT\"}"],
            1);
  EXPECT_EQ(samples["packhouse_streams_ended_total{code=\"UNKNOWN\"}"], 1);
  EXPECT_EQ(metrics.streams_started(), 3);
  EXPECT_EQ(metrics.streams_ended(absl::StatusCode::kInvalidArgument), 1);
}

TEST(Metrics, Plans) {
  Metrics metrics;
  PackSpec spec;
  spec.capacity_tokens = 16;
  spec.sequence_alignment = 4;
  const std::vector<uint32_t> lengths = {5, 16, 2};  // footprints 8, 16, 4
  const Packs packs = *Plan(lengths, spec);
  metrics.CountPlan(absl::StatusCode::kOk, lengths, spec, packs);
  metrics.CountPlan(absl::StatusCode::kInvalidArgument, lengths, spec, {});
  Expected expected;
  expected.sequences = 3;
  expected.packed = 3;
  expected.tokens = 23;
  expected.packs = 2;
  expected.slots = 32;
  expected.tail = 4;
  expected.alignment = 5;
  ExpectScrape(metrics, expected);
  std::map<std::string, double> samples = Scrape(metrics);
  EXPECT_EQ(samples["packhouse_plans_total{code=\"OK\"}"], 1);
  EXPECT_EQ(samples["packhouse_plans_total{code=\"INVALID_ARGUMENT\"}"], 1);
  for (const char* code : {"RESOURCE_EXHAUSTED", "UNAVAILABLE", "UNKNOWN"}) {
    const std::string name =
        std::string("packhouse_plans_total{code=\"") + code + "\"}";
    EXPECT_THAT(samples, testing::Contains(testing::Pair(name, 0)));
  }
}

TEST(Metrics, Process) {
  Metrics metrics;
  std::map<std::string, double> samples = Scrape(metrics);
  EXPECT_GT(samples["process_cpu_seconds_total"], 0);
  EXPECT_GT(samples["process_resident_memory_bytes"], 1 << 20);
  EXPECT_GE(samples["process_open_fds"], 1);
  EXPECT_GE(samples["process_max_fds"], samples["process_open_fds"]);
  const double now = absl::ToDoubleSeconds(absl::Now() - absl::UnixEpoch());
  EXPECT_LT(samples["process_start_time_seconds"], now + 1);
  EXPECT_GT(samples["process_start_time_seconds"], now - 24 * 3600);
}

}  // namespace
}  // namespace packhouse
