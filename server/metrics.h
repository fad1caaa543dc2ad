// What a server counts, in Prometheus' terms.
//
// Counters only grow and ratios are left to the reader. A unit is what a pack
// holds: a sequence, what is left of a truncated one, or a piece of a split
// one. Everything accepted is in one place:
//
//   sequences + extra pieces = units packed + pending + abandoned
//                              + sequences dropped
//   tokens = (slots - waste) + those pending + abandoned + truncated + dropped
//
// where slots - waste are the tokens packed, so that the efficiency of what was
// emitted is 1 - waste / slots. A unit is abandoned when its stream ends before
// it is packed.

#ifndef PACKHOUSE_SERVER_METRICS_H_
#define PACKHOUSE_SERVER_METRICS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/registry.h"
#include "server/process_metrics.h"
#include "session/messages.h"
#include "session/server_session.h"

namespace packhouse {

// Thread-safe.
class Metrics {
 public:
  Metrics();

  // The text format of a Prometheus scrape.
  std::string Serialize() const;

  // A Plan call has ended. `lengths` and `packs` are read where it ended OK.
  void CountPlan(absl::StatusCode code, absl::Span<const uint32_t> lengths,
                 const PackSpec& spec, const Packs& packs);

  uint64_t streams_started() const;
  uint64_t streams_ended(absl::StatusCode code) const;
  uint64_t sequences() const;
  uint64_t tokens() const;
  uint64_t packs() const;

 private:
  friend class StreamMeter;

  void CountIntake(const IntakeCounts& came);

  // What was packed of late, in packs with so many slots.
  void CountPacks(const SessionCounts& packed, uint64_t slot_tokens);

  prometheus::Registry registry_;
  ProcessMetrics process_;
  prometheus::Counter& sequences_;
  prometheus::Counter& tokens_;
  prometheus::Counter& dropped_overlong_;
  prometheus::Counter& dropped_empty_;
  prometheus::Counter& dropped_tokens_;
  prometheus::Counter& truncated_sequences_;
  prometheus::Counter& truncated_tokens_;
  prometheus::Counter& split_sequences_;
  prometheus::Counter& extra_pieces_;
  prometheus::Counter& packed_units_;
  prometheus::Counter& abandoned_units_;
  prometheus::Counter& abandoned_tokens_;
  prometheus::Counter& packs_;
  prometheus::Counter& slot_tokens_;
  prometheus::Counter& waste_tail_;
  prometheus::Counter& waste_alignment_;
  prometheus::Counter& batches_;
  prometheus::Counter& refused_batches_;
  prometheus::Gauge& pending_units_;
  prometheus::Gauge& streams_;
  prometheus::Counter& streams_started_;
  // By the codes that docs of PackerService name; others count as UNKNOWN.
  std::map<absl::StatusCode, prometheus::Counter*> streams_ended_;
  std::map<absl::StatusCode, prometheus::Counter*> plans_;
};

// Carries the counts of one stream into the metrics, once a request: a dozen
// additions whatever the size of a batch. Thread-compatible.
class StreamMeter {
 public:
  // The stream has started. `metrics` must outlive it.
  explicit StreamMeter(Metrics* metrics);

  // `session` has just taken a request.
  void Update(const ServerSession& session);

  // The stream has ended. The last call.
  void End(absl::StatusCode code);

 private:
  Metrics* const metrics_;
  SessionCounts counts_;  // carried so far
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_METRICS_H_
