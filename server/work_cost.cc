#include "server/work_cost.h"

#include <variant>

namespace packhouse {
namespace {

// Nanoseconds for each unit that comes: check, counts, copies, and packing
// where it goes unit by unit; and for each that is decided in the end, by a
// window that closes or a flush. Measured with `packhouse bench packing` and
// bench/density (docs/benchmarks.md) on the dearest lists at window 1024.
struct UnitNanos {
  uint64_t arriving;
  uint64_t closing;
};

UnitNanos Measured(const PackSpec& spec) {
  constexpr uint64_t kIntake = 10;
  if (spec.algorithm == "sliding") {
    switch (spec.effort) {
      case Effort::kFast:
        return {1'000, 5'000};
      case Effort::kBalanced:
        return {3'000, 20'000};
      case Effort::kThorough:
        return {25'000, 25'000};
    }
  }
  if (spec.algorithm == "depth_aware") return {kIntake, 500};
  return {kIntake, 50};  // one pass of a decreasing rule
}

// A snapshot that may be due, a unit that waits: it is written and checked.
constexpr uint64_t kSnapshotNanos = 20;

// A state to go on from, a byte.
constexpr uint64_t kRestoreNanos = 10;

uint64_t UnitsOf(const PackSpec& spec, const Batch& batch) {
  uint64_t units = batch.lengths.size();
  if (spec.overlong != Overlong::kSplit) return units;
  const uint64_t piece = LongestPiece(spec);
  for (const uint32_t length : batch.lengths) {
    if (length > piece) units += (length - 1) / piece;
  }
  return units;
}

}  // namespace

uint64_t EstimateNanos(const PackSpec* spec, uint64_t pending_units,
                       const Request& request) {
  if (const auto* open = std::get_if<Open>(&request)) {
    return open->resume.has_value() ? open->resume->state.size() * kRestoreNanos
                                    : 0;
  }
  if (spec == nullptr) return 0;  // a violation
  const UnitNanos nanos = Measured(*spec);
  if (const auto* batch = std::get_if<Batch>(&request)) {
    const uint64_t units = UnitsOf(*spec, *batch);
    const uint64_t reached = pending_units + units;
    const bool closes =
        spec->algorithm != "sliding" &&
        reached >= static_cast<uint64_t>(spec->window_sequences);
    return units * nanos.arriving + pending_units * kSnapshotNanos +
           (closes ? reached * nanos.closing : 0);
  }
  return pending_units * (nanos.closing + kSnapshotNanos);
}

}  // namespace packhouse
