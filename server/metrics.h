// What a server counts, in Prometheus' terms.
//
// Counters only grow and ratios are left to the reader. A unit is what a pack
// holds: a sequence, what is left of a truncated one, or a piece of a split
// one. Everything accepted is in one place:
//
//   sequences + extra pieces + units resumed
//     = units packed + replayed + pending + abandoned + sequences dropped
//   tokens + those resumed
//     = (slots - waste) + those replayed + pending + abandoned
//       + truncated + dropped
//
// where slots - waste are the tokens packed, so that the efficiency of what was
// emitted is 1 - waste / slots. A unit is abandoned when its stream ends before
// it is packed, and resumed where one goes on from a snapshot in which it
// waits. What is packed again for a client which has the pack is replayed.

#ifndef PACKHOUSE_SERVER_METRICS_H_
#define PACKHOUSE_SERVER_METRICS_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"
#include "server/memory_budget.h"
#include "server/process_metrics.h"
#include "server/work_pool.h"
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

  // A stream has gone on from an earlier connection.
  void CountResumed();

  // A client has left a stream after it was told that the server stops.
  void CountDrained();

  // A job of the pool has waited for so long.
  void CountWait(absl::Duration wait);

  // What the pool does, and the memory that is taken, as of now.
  void SetLoad(const WorkPool::Load& load, const MemoryBudget& memory);

  uint64_t streams_started() const;
  uint64_t streams_drained() const;
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
  prometheus::Counter& resumed_units_;
  prometheus::Counter& resumed_tokens_;
  prometheus::Counter& replayed_units_;
  prometheus::Counter& replayed_tokens_;
  prometheus::Counter& snapshots_;
  prometheus::Counter& snapshot_bytes_;
  prometheus::Gauge& pending_units_;
  prometheus::Gauge& streams_;
  prometheus::Counter& streams_started_;
  prometheus::Counter& streams_resumed_;
  prometheus::Counter& streams_drained_;
  prometheus::Gauge& memory_committed_bytes_;
  prometheus::Gauge& memory_limit_bytes_;
  prometheus::Gauge& pool_threads_;
  prometheus::Gauge& pool_busy_;
  prometheus::Gauge& pool_queued_;
  prometheus::Histogram& pool_wait_seconds_;
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

  // Those of the session after the last request.
  const SessionCounts& counts() const { return counts_; }

 private:
  Metrics* const metrics_;
  SessionCounts counts_;  // carried so far
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_METRICS_H_
