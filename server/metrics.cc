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

uint64_t SlotTokens(const PackSpec& spec, uint64_t packs) {
  return packs * static_cast<uint64_t>(spec.capacity_tokens);
}

}  // namespace

Metrics::Metrics()
    : sequences_(NewCounter(
          &registry_, "packhouse_sequences_total",
          "Sequences accepted: those packed, pending and abandoned.")),
      tokens_(NewCounter(&registry_, "packhouse_tokens_total",
                         "Tokens of the sequences accepted: those packed, "
                         "which are slots - waste, pending and abandoned.")),
      packed_sequences_(NewCounter(&registry_,
                                   "packhouse_packed_sequences_total",
                                   "Sequences of the packs decided.")),
      abandoned_sequences_(NewCounter(
          &registry_, "packhouse_abandoned_sequences_total",
          "Sequences accepted whose Pack stream ended before they were "
          "packed.")),
      abandoned_tokens_(NewCounter(&registry_,
                                   "packhouse_abandoned_tokens_total",
                                   "Tokens of the sequences abandoned.")),
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
          "Batches of Pack streams refused, whole, for a length that cannot "
          "be packed.")),
      pending_sequences_(
          NewGauge(&registry_, "packhouse_pending_sequences",
                   "Sequences of open Pack streams that wait for a pack.")),
      streams_(NewGauge(&registry_, "packhouse_streams",
                        "Pack streams that are open.")),
      streams_started_(NewCounter(&registry_, "packhouse_streams_started_total",
                                  "Pack streams started.")),
      streams_ended_(NewByCode(
          &registry_, "packhouse_streams_ended_total",
          "Pack streams ended, by status code: CANCELLED where the client "
          "went away, UNAVAILABLE where the server stopped.",
          {absl::StatusCode::kOk, absl::StatusCode::kCancelled,
           absl::StatusCode::kInvalidArgument,
           absl::StatusCode::kFailedPrecondition, absl::StatusCode::kOutOfRange,
           absl::StatusCode::kResourceExhausted, absl::StatusCode::kUnavailable,
           absl::StatusCode::kUnknown})),
      plans_(NewByCode(
          &registry_, "packhouse_plans_total",
          "Plan calls ended, by status code.",
          {absl::StatusCode::kOk, absl::StatusCode::kInvalidArgument,
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
  const TokenSums sums = SumTokens(spec, lengths);
  sequences_.Increment(static_cast<double>(lengths.size()));
  tokens_.Increment(static_cast<double>(sums.tokens));
  CountPacks(packs.size(), SlotTokens(spec, packs.size()), lengths.size(),
             sums);
}

void Metrics::CountPacks(uint64_t packs, uint64_t slot_tokens,
                         uint64_t sequences, const TokenSums& packed) {
  packed_sequences_.Increment(static_cast<double>(sequences));
  packs_.Increment(static_cast<double>(packs));
  slot_tokens_.Increment(static_cast<double>(slot_tokens));
  waste_tail_.Increment(
      static_cast<double>(slot_tokens - packed.footprint_tokens));
  waste_alignment_.Increment(
      static_cast<double>(packed.footprint_tokens - packed.tokens));
}

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

// The rules decide window by window, so those that wait are the last that came.
TokenSums StreamMeter::Pending(const Request& request,
                               const ServerSession& session,
                               const TokenSums& came) const {
  const uint64_t sequences = session.pending_sequences();
  if (sequences == 0) return {};
  if (session.counts().batches == counts_.batches) return pending_;
  const absl::Span<const uint32_t> lengths = std::get<Batch>(request).lengths;
  if (sequences <= lengths.size()) {
    return SumTokens(*session.spec(), lengths.last(sequences));
  }
  return {pending_.tokens + came.tokens,
          pending_.footprint_tokens + came.footprint_tokens};
}

void StreamMeter::Update(const Request& request, const ServerSession& session) {
  if (session.spec() == nullptr) return;  // the open was refused
  const SessionCounts& now = session.counts();
  const uint64_t pending_sequences = session.pending_sequences();
  const TokenSums came = {now.tokens - counts_.tokens,
                          now.footprint_tokens - counts_.footprint_tokens};
  const TokenSums pending = Pending(request, session, came);
  // What was packed is what came and does not wait any more.
  const TokenSums packed = {came.tokens + pending_.tokens - pending.tokens,
                            came.footprint_tokens + pending_.footprint_tokens -
                                pending.footprint_tokens};
  const uint64_t came_sequences = now.sequences - counts_.sequences;
  const uint64_t packed_sequences =
      came_sequences + pending_sequences_ - pending_sequences;
  const uint64_t packs = now.packs - counts_.packs;

  Metrics& metrics = *metrics_;
  metrics.batches_.Increment(
      static_cast<double>(now.batches - counts_.batches));
  metrics.refused_batches_.Increment(
      static_cast<double>(now.refused_batches - counts_.refused_batches));
  metrics.sequences_.Increment(static_cast<double>(came_sequences));
  metrics.tokens_.Increment(static_cast<double>(came.tokens));
  metrics.CountPacks(packs, SlotTokens(*session.spec(), packs),
                     packed_sequences, packed);
  metrics.pending_sequences_.Increment(static_cast<double>(pending_sequences) -
                                       static_cast<double>(pending_sequences_));

  counts_ = now;
  pending_sequences_ = pending_sequences;
  pending_ = pending;
}

void StreamMeter::End(absl::StatusCode code) {
  const auto abandoned = static_cast<double>(pending_sequences_);
  metrics_->pending_sequences_.Decrement(abandoned);
  metrics_->abandoned_sequences_.Increment(abandoned);
  metrics_->abandoned_tokens_.Increment(static_cast<double>(pending_.tokens));
  metrics_->streams_.Decrement();
  CountCode(metrics_->streams_ended_, code);
}

}  // namespace packhouse
