// What a server allows a stream, and the memory that this bounds.

#ifndef PACKHOUSE_SESSION_LIMITS_H_
#define PACKHOUSE_SESSION_LIMITS_H_

#include <cstdint>

#include "absl/status/status.h"
#include "packhouse/spec.h"
#include "session/messages.h"

namespace packhouse {

// Every limit is at least 1.
struct SessionLimits {
  // The client is this process itself: what a spec and a stream may ask for is
  // bounded by nothing.
  bool trusts_client = false;

  // Largest window that a spec may ask for, itself at most
  // kMaxStreamWindowSequences. max_displacement may be
  // kMaxStreamDisplacementWindows times as much.
  int64_t max_window_sequences = kMaxStreamWindowSequences;

  // Inputs and sequences that a client may have on the way. 64 batches of
  // 4096 keep a connection busy on any local link.
  uint64_t credit_inputs = 64;
  uint64_t credit_sequences = uint64_t{4} * kMaxBatchSequences;

  // Sequences that a batch may have. Where credit_sequences is less, that
  // holds: a batch that no credit ever allows would lock the stream.
  uint32_t max_batch_sequences = kMaxBatchSequences;

  // A snapshot follows after so many sequences or inputs. It costs the server
  // 10 to 20 ns for each unit that waits, so a spec with a large window gets
  // them after kSnapshotWindows windows only.
  uint64_t snapshot_sequences = 1 << 16;
  uint64_t snapshot_inputs = 1 << 12;
};

inline constexpr uint64_t kSnapshotWindows = 4;

// Units of responses that may wait to be written while requests of the stream
// are still read: some batches of usual size, which keep a connection busy.
// What one input decides is queued whole, so that there may be more for a time.
inline constexpr uint64_t kMaxQueuedUnits = 1 << 14;

// OK, or RESOURCE_EXHAUSTED with the field, its value and the limit. Requires
// a valid spec.
absl::Status CheckLimits(const PackSpec& spec, const SessionLimits& limits);

// Sequences between two snapshots of a stream of this spec.
uint64_t SnapshotSequences(const PackSpec& spec, const SessionLimits& limits);

// Later arrivals that a unit may wait for.
uint64_t MaxDisplacement(const PackSpec& spec);

// Sequences that a stream may have from its oldest pending one on. What waits
// stays below a window and the displacement; what counts for neither, dropped
// sequences, could go on for ever while a unit waits.
uint64_t MaxWaitingSequences(const PackSpec& spec);

// Bytes that a stream of this spec takes in a server at most, when its client
// does its worst: sends what it may and never reads. What a request takes while
// it is being served comes on top, for as many as there are threads.
uint64_t StreamMemoryBound(const PackSpec& spec, const SessionLimits& limits);

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_LIMITS_H_
