// What can be said of packs without knowing how they were made.
//
// Verify proves that packs are a legal answer, LowerBoundPacks says how few
// packs any answer needs, and Summarize counts what was won and where the
// empty slots are. Verify shares no code with the packers.

#ifndef PACKHOUSE_PLAN_CHECK_H_
#define PACKHOUSE_PLAN_CHECK_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/policy.h"
#include "packhouse/spec.h"

namespace packhouse {

// OK if `packs` is a legal answer for `lengths` (ordinal i has lengths[i]):
// every sequence is in exactly one pack, or what the policies of the spec make
// of it is (each piece in one, a dropped sequence in none); no pack is empty,
// over capacity or over max_sequences_per_pack; ordinals, and the source
// offsets of pieces, ascend inside each pack; and where the rule is `sliding`,
// no displacement is over its bound. Which rule was followed, and in which
// order packs were released, is not judged otherwise.
//
// INVALID_ARGUMENT where spec or lengths are not valid themselves;
// FAILED_PRECONDITION where a check does not hold, naming the first violations
// by pack and ordinal with value and limit, and their number, in under 2 kB.
absl::Status Verify(absl::Span<const uint32_t> lengths, const PackSpec& spec,
                    const Packs& packs);

// No packing of `lengths`, after the policies of `spec`, uses fewer packs than
// this. The largest of ceil(footprints / capacity), Martello and Toth's L2
// (Knapsack Problems, 1990, section 8.3), Burdet and Johnson's dual-feasible
// functions (as in Clautiaux et al., 2010) and ceil(sequences /
// max_sequences_per_pack). O(n) and some milliseconds. INVALID_ARGUMENT where
// spec or lengths are not valid.
absl::StatusOr<uint64_t> LowerBoundPacks(absl::Span<const uint32_t> lengths,
                                         const PackSpec& spec);

// Units of a batch in the comparison with padding to the longest.
inline constexpr uint32_t kPaddedBatchUnits = 8;

// The figures of a list of packs. Reports of several streams of one capacity
// add up with Merge; an empty report changes nothing.
struct PackReport {
  IntakeCounts intake;
  uint64_t packs = 0;
  uint64_t capacity_tokens = 0;    // of one pack
  uint64_t lower_bound_packs = 0;  // no packing needs fewer

  // Slots that hold no token: behind the last sequence of a pack, and between
  // a sequence and the next multiple of the alignment.
  uint64_t waste_tail_tokens = 0;
  uint64_t waste_alignment_tokens = 0;

  // The largest displacement: how many units of sequences that came later were
  // placed in earlier packs.
  uint64_t max_displacement = 0;

  // Slots that padding would have used: one unit a row of `capacity` tokens;
  // and 8 consecutive units a batch, each padded to its longest.
  uint64_t one_per_row_slots = 0;
  uint64_t pad_to_longest_slots = 0;

  uint64_t slots() const { return packs * capacity_tokens; }

  // Packed tokens / slots(); absent without packs.
  absl::optional<double> efficiency() const;

  void Merge(const PackReport& other);
};

// Requires packs that Verify accepts (the figures mean nothing for others).
// INVALID_ARGUMENT where spec or lengths are not valid.
absl::StatusOr<PackReport> Summarize(absl::Span<const uint32_t> lengths,
                                     const PackSpec& spec, const Packs& packs);

}  // namespace packhouse

#endif  // PACKHOUSE_PLAN_CHECK_H_
