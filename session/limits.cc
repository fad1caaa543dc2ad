#include "session/limits.h"

#include <algorithm>

#include "packing/sliding_rule.h"
#include "session/reason.h"

namespace packhouse {
namespace {

// What follows was measured with bench/stream_memory, which opens streams that
// send and never read: they take a third to nine tenths of their bound.

// A unit that a packer holds, in all tables of its rule.
constexpr uint64_t kPendingUnitBytes = 64;

// Its part of a snapshot that waits to be written; one of lengths that are as
// hard to store as they can be.
constexpr uint64_t kSnapshotUnitBytes = 20;

// A unit in a message that waits to be written: its ordinal, a size or an
// offset, and what it is on the wire while it is being written.
constexpr uint64_t kAnsweredUnitBytes = 12;

// A length that is kept, in a buffer which may be twice as large as what it
// holds.
constexpr uint64_t kWaitingLengthBytes = 2 * sizeof(uint32_t);

// The rest: what gRPC keeps of a call and has read ahead (256 KiB, see
// server/server.cc), and messages of usual size.
constexpr uint64_t kStreamBytes = 384 << 10;

bool Drops(const PackSpec& spec) {
  return spec.overlong == Overlong::kDrop || spec.empty == Empty::kDrop;
}

}  // namespace

absl::Status CheckLimits(const PackSpec& spec, const SessionLimits& limits) {
  const auto check = [](absl::string_view field, int64_t value, int64_t limit) {
    return value <= limit ? absl::OkStatus()
                          : OverLimit(field, static_cast<uint64_t>(value),
                                      static_cast<uint64_t>(limit));
  };
  if (limits.trusts_client) return absl::OkStatus();
  absl::Status status = check("window_sequences", spec.window_sequences,
                              limits.max_window_sequences);
  if (status.ok() && spec.algorithm == "sliding") {
    status = check("with sliding, capacity_tokens / sequence_alignment",
                   spec.capacity_tokens / spec.sequence_alignment,
                   kMaxStreamSlidingCapacity);
  }
  if (!status.ok()) return status;
  return check("max_displacement", spec.max_displacement,
               kMaxStreamDisplacementWindows * limits.max_window_sequences);
}

uint64_t SnapshotSequences(const PackSpec& spec, const SessionLimits& limits) {
  return std::max(
      limits.snapshot_sequences,
      kSnapshotWindows * static_cast<uint64_t>(spec.window_sequences));
}

uint64_t MaxDisplacement(const PackSpec& spec) {
  return spec.algorithm == "sliding"
             ? SlidingMaxAge(spec)
             : static_cast<uint64_t>(spec.window_sequences) - 1;
}

uint64_t MaxWaitingSequences(const PackSpec& spec) {
  const uint64_t units =
      static_cast<uint64_t>(spec.window_sequences) + MaxDisplacement(spec);
  // Up to 15 in 16 may be dropped, however they come.
  constexpr uint64_t kSequencesPerUnit = 16;
  return kMaxBatchSequences + (Drops(spec) ? kSequencesPerUnit : 1) * units;
}

uint64_t StreamMemoryBound(const PackSpec& spec, const SessionLimits& limits) {
  const uint64_t window = static_cast<uint64_t>(spec.window_sequences);
  uint64_t batch_units = limits.max_batch_sequences;
  if (spec.overlong == Overlong::kSplit) batch_units += kMaxPiecesPerSequence;
  // Reading stops while kMaxQueuedUnits wait to be written; the input that
  // reaches that number may decide a window and a batch more.
  const uint64_t answered = kMaxQueuedUnits + window + batch_units;
  return kStreamBytes + (kPendingUnitBytes + kSnapshotUnitBytes) * window +
         kWaitingLengthBytes * MaxWaitingSequences(spec) +
         kAnsweredUnitBytes * answered;
}

}  // namespace packhouse
