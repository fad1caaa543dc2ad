#include "server/metrics.h"

#include <utility>
#include <vector>

#include "prometheus/family.h"
#include "prometheus/text_serializer.h"
#include "server/server.h"

namespace packhouse {
namespace {

using prometheus::BuildCounter;
using prometheus::BuildGauge;
using prometheus::Counter;
using prometheus::Family;
using prometheus::Gauge;
using prometheus::Registry;

Counter& NewCounter(Registry* registry, const char* name, const char* help) {
  return BuildCounter().Name(name).Help(help).Register(*registry).Add({});
}

Gauge& NewGauge(Registry* registry, const char* name, const char* help) {
  return BuildGauge().Name(name).Help(help).Register(*registry).Add({});
}

// Registering a name again gives the family that is there, with another label.
Counter& NewWaste(Registry* registry, const char* cause) {
  return BuildCounter()
      .Name("packhouse_waste_tokens_total")
      .Help(
          "Slots of the packs decided that hold no token: behind the last "
          "sequence (tail), between a sequence and the next multiple of the "
          "alignment (alignment).")
      .Register(*registry)
      .Add({{"cause", cause}});
}

Counter& NewDropped(Registry* registry, const char* reason) {
  return BuildCounter()
      .Name("packhouse_dropped_sequences_total")
      .Help(
          "Sequences in no pack, as the spec of their stream says: over the "
          "capacity (overlong), or of no tokens (empty).")
      .Register(*registry)
      .Add({{"reason", reason}});
}

// All codes are there from the start, so that a rate over the first error is
// not lost.
std::map<absl::StatusCode, Counter*> NewByCode(
    Registry* registry, const char* name, const char* help,
    std::initializer_list<absl::StatusCode> codes) {
  Family<Counter>& family =
      BuildCounter().Name(name).Help(help).Register(*registry);
  std::map<absl::StatusCode, Counter*> counters;
  for (absl::StatusCode code : codes) {
    counters[code] = &family.Add({{"code", absl::StatusCodeToString(code)}});
  }
  return counters;
}

void CountCode(const std::map<absl::StatusCode, Counter*>& counters,
               absl::StatusCode code) {
  const auto found = counters.find(code);
  (found == counters.end() ? counters.at(absl::StatusCode::kUnknown)
                           : found->second)
      ->Increment();
}

uint64_t ValueOf(const Counter& counter) {
  return static_cast<uint64_t>(counter.Value());
}

void Add(Counter& counter, uint64_t count) {
  counter.Increment(static_cast<double>(count));
}

uint64_t SlotTokens(const PackSpec& spec, uint64_t packs) {
  return packs * static_cast<uint64_t>(spec.capacity_tokens);
}

}  // namespace

Metrics::Metrics()
    : sequences_(NewCounter(&registry_, "packhouse_sequences_total",
                            "Sequences accepted, dropped ones too.")),
      tokens_(NewCounter(&registry_, "packhouse_tokens_total",
                         "Tokens of the sequences accepted: those packed, "
                         "which are slots - waste, pending, abandoned, "
                         "truncated and dropped.")),
      dropped_overlong_(NewDropped(&registry_, "overlong")),
      dropped_empty_(NewDropped(&registry_, "empty")),
      dropped_tokens_(NewCounter(&registry_, "packhouse_dropped_tokens_total",
                                 "Tokens of the sequences dropped.")),
      truncated_sequences_(NewCounter(
          &registry_, "packhouse_truncated_sequences_total",
          "Sequences of which only the longest piece that fits is packed.")),
      truncated_tokens_(NewCounter(&registry_,
                                   "packhouse_truncated_tokens_total",
                                   "Tokens cut off these.")),
      split_sequences_(NewCounter(&registry_, "packhouse_split_sequences_total",
                                  "Sequences split into several pieces.")),
      extra_pieces_(NewCounter(&registry_, "packhouse_extra_pieces_total",
                               "Pieces of these beyond the first of each.")),
      packed_units_(NewCounter(
          &registry_, "packhouse_packed_units_total",
          "Units of the packs decided: sequences, or pieces of one.")),
      abandoned_units_(NewCounter(
          &registry_, "packhouse_abandoned_units_total",
          "Units accepted whose Pack stream ended before they were packed.")),
      abandoned_tokens_(NewCounter(&registry_,
                                   "packhouse_abandoned_tokens_total",
                                   "Tokens of the units abandoned.")),
      packs_(NewCounter(&registry_, "packhouse_packs_total", "Packs decided.")),
      slot_tokens_(NewCounter(
          &registry_, "packhouse_slot_tokens_total",
          "Tokens that the packs decided can hold: packs x capacity. The "
          "efficiency is 1 - waste / slots.")),
      waste_tail_(NewWaste(&registry_, "tail")),
      waste_alignment_(NewWaste(&registry_, "alignment")),
      batches_(NewCounter(&registry_, "packhouse_batches_total",
                          "Batches of Pack streams accepted.")),
      refused_batches_(NewCounter(
          &registry_, "packhouse_refused_batches_total",
          "Batches of Pack streams refused, whole, for a length that the "
          "policies of the spec refuse.")),
      resumed_units_(NewCounter(
          &registry_, "packhouse_resumed_units_total",
          "Units that waited in the snapshots from which Pack streams went "
          "on.")),
      resumed_tokens_(NewCounter(&registry_, "packhouse_resumed_tokens_total",
                                 "Tokens of the units resumed.")),
      replayed_units_(
          NewCounter(&registry_, "packhouse_replayed_units_total",
                     "Units of packs decided again, which the client has.")),
      replayed_tokens_(NewCounter(&registry_, "packhouse_replayed_tokens_total",
                                  "Tokens of the units replayed.")),
      snapshots_(NewCounter(&registry_, "packhouse_snapshots_total",
                            "Snapshots sent.")),
      snapshot_bytes_(NewCounter(&registry_, "packhouse_snapshot_bytes_total",
                                 "Bytes of the states in them.")),
      pending_units_(
          NewGauge(&registry_, "packhouse_pending_units",
                   "Units of open Pack streams that wait for a pack.")),
      streams_(NewGauge(&registry_, "packhouse_streams",
                        "Pack streams that are open.")),
      streams_started_(NewCounter(&registry_, "packhouse_streams_started_total",
                                  "Pack streams started.")),
      streams_resumed_(
          NewCounter(&registry_, "packhouse_resumed_streams_total",
                     "Pack streams that went on from an earlier connection.")),
      streams_drained_(NewCounter(
          &registry_, "packhouse_drained_streams_total",
          "Pack streams that their client left because the server stopped.")),
      memory_committed_bytes_(
          NewGauge(&registry_, "packhouse_memory_committed_bytes",
                   "The most memory that open streams and plans can come to "
                   "take.")),
      memory_limit_bytes_(NewGauge(&registry_, "packhouse_memory_limit_bytes",
                                   "What that may be.")),
      pool_threads_(NewGauge(&registry_, "packhouse_pool_threads",
                             "Threads that do heavy packing.")),
      pool_busy_(NewGauge(&registry_, "packhouse_pool_busy_threads",
                          "Those that work.")),
      pool_queued_(NewGauge(&registry_, "packhouse_pool_queued_jobs",
                            "Requests and plans that wait for one.")),
      pool_wait_seconds_(
          prometheus::BuildHistogram()
              .Name("packhouse_pool_wait_seconds")
              .Help("How long requests and plans waited for a thread.")
              .Register(registry_)
              .Add({}, prometheus::Histogram::BucketBoundaries{1e-4, 1e-3, 1e-2,
                                                               0.1, 1, 10})),
      streams_ended_(NewByCode(
          &registry_, "packhouse_streams_ended_total",
          "Pack streams ended, by status code: CANCELLED where the client "
          "went away, UNAVAILABLE where the server stopped, ABORTED where a "
          "later connection has the stream, DEADLINE_EXCEEDED where it was "
          "idle.",
          {absl::StatusCode::kOk, absl::StatusCode::kCancelled,
           absl::StatusCode::kDeadlineExceeded, absl::StatusCode::kAborted,
           absl::StatusCode::kInvalidArgument,
           absl::StatusCode::kFailedPrecondition, absl::StatusCode::kOutOfRange,
           absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable,
           absl::StatusCode::kUnknown})),
      plans_(NewByCode(
          &registry_, "packhouse_plans_total",
          "Plan calls ended, by status code.",
          {absl::StatusCode::kOk, absl::StatusCode::kCancelled,
           absl::StatusCode::kInvalidArgument,
           absl::StatusCode::kDeadlineExceeded,
           absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable,
           absl::StatusCode::kUnknown})) {
  BuildGauge()
      .Name("packhouse_build_info")
      .Help("Always 1; the label names the version.")
      .Register(registry_)
      .Add({{"version", std::string(ServerVersion())}})
      .Set(1);
}

std::string Metrics::Serialize() const {
  std::vector<prometheus::MetricFamily> families = registry_.Collect();
  for (prometheus::MetricFamily& family : process_.Collect()) {
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

void Metrics::CountPlan(absl::StatusCode code,
                        absl::Span<const uint32_t> lengths,
                        const PackSpec& spec, const Packs& packs) {
  CountCode(plans_, code);
  if (code != absl::StatusCode::kOk) return;
  const IntakeCounts came = packhouse::CountIntake(spec, lengths);
  CountIntake(came);
  SessionCounts packed;
  packed.packs = packs.size();
  packed.packed_units = came.units;
  packed.packed_tokens = came.packed_tokens;
  packed.packed_footprint_tokens = came.footprint_tokens;
  CountPacks(packed, SlotTokens(spec, packs.size()));
}

void Metrics::CountIntake(const IntakeCounts& came) {
  Add(sequences_, came.sequences);
  Add(tokens_, came.tokens);
  Add(dropped_overlong_, came.dropped_sequences);
  Add(dropped_empty_, came.empty_sequences);
  Add(dropped_tokens_, came.dropped_tokens);
  Add(truncated_sequences_, came.truncated_sequences);
  Add(truncated_tokens_, came.truncated_tokens);
  Add(split_sequences_, came.split_sequences);
  Add(extra_pieces_, came.extra_pieces);
}

void Metrics::CountPacks(const SessionCounts& packed, uint64_t slot_tokens) {
  Add(packs_, packed.packs);
  Add(packed_units_, packed.packed_units);
  Add(slot_tokens_, slot_tokens);
  Add(waste_tail_, slot_tokens - packed.packed_footprint_tokens);
  Add(waste_alignment_, packed.packed_footprint_tokens - packed.packed_tokens);
}

void Metrics::CountResumed() { streams_resumed_.Increment(); }

void Metrics::CountDrained() { streams_drained_.Increment(); }

void Metrics::CountWait(absl::Duration wait) {
  pool_wait_seconds_.Observe(absl::ToDoubleSeconds(wait));
}

void Metrics::SetLoad(const WorkPool::Load& load, const MemoryBudget& memory) {
  pool_threads_.Set(load.threads);
  pool_busy_.Set(load.busy);
  pool_queued_.Set(static_cast<double>(load.queued));
  memory_committed_bytes_.Set(static_cast<double>(memory.committed()));
  memory_limit_bytes_.Set(static_cast<double>(memory.limit()));
}

uint64_t Metrics::streams_drained() const { return ValueOf(streams_drained_); }
uint64_t Metrics::streams_started() const { return ValueOf(streams_started_); }
uint64_t Metrics::streams_ended(absl::StatusCode code) const {
  return ValueOf(*streams_ended_.at(code));
}
uint64_t Metrics::sequences() const { return ValueOf(sequences_); }
uint64_t Metrics::tokens() const { return ValueOf(tokens_); }
uint64_t Metrics::packs() const { return ValueOf(packs_); }

StreamMeter::StreamMeter(Metrics* metrics) : metrics_(metrics) {
  metrics_->streams_started_.Increment();
  metrics_->streams_.Increment();
}

void StreamMeter::Update(const ServerSession& session) {
  if (session.spec() == nullptr) return;  // the open was refused
  const SessionCounts& now = session.counts();
  const SessionCounts came = now - counts_;
  Metrics& metrics = *metrics_;
  Add(metrics.batches_, came.batches);
  Add(metrics.refused_batches_, came.refused_batches);
  metrics.CountIntake(came.accepted);
  metrics.CountPacks(came, SlotTokens(*session.spec(), came.packs));
  Add(metrics.resumed_units_, came.resumed_units);
  Add(metrics.resumed_tokens_, came.resumed_tokens);
  Add(metrics.replayed_units_, came.replayed_units);
  Add(metrics.replayed_tokens_, came.replayed_tokens);
  Add(metrics.snapshots_, came.snapshots);
  Add(metrics.snapshot_bytes_, came.snapshot_bytes);
  metrics.pending_units_.Increment(
      static_cast<double>(now.pending_units()) -
      static_cast<double>(counts_.pending_units()));
  counts_ = now;
}

void StreamMeter::End(absl::StatusCode code) {
  const uint64_t abandoned = counts_.pending_units();
  metrics_->pending_units_.Decrement(static_cast<double>(abandoned));
  Add(metrics_->abandoned_units_, abandoned);
  Add(metrics_->abandoned_tokens_, counts_.pending_tokens());
  metrics_->streams_.Decrement();
  CountCode(metrics_->streams_ended_, code);
}

}  // namespace packhouse
