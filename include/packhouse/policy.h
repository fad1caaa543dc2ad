// What the policies of a spec make of a sequence.
//
// A sequence that fits a pack is packed whole. One that does not is packed as
// one *unit* (truncated) or several (the pieces of a split one), or dropped;
// one without tokens is dropped. What becomes of it depends on its length and
// the spec alone, so both ends of a stream can say it without asking.

#ifndef PACKHOUSE_POLICY_H_
#define PACKHOUSE_POLICY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packhouse/spec.h"

namespace packhouse {

// Everything below requires a valid spec and lengths that CheckLengths accepts.

// How many units a sequence of this length becomes; 0 where it is dropped.
uint32_t UnitCount(const PackSpec& spec, uint32_t length);

// The tokens of the unit at `source_offset` of a sequence of this length, which
// must be where one begins.
uint32_t UnitTokens(const PackSpec& spec, uint32_t length,
                    uint32_t source_offset);

// The tokens of each entry of packs.ordinals. `first_ordinal` is the ordinal of
// lengths[0]. Requires packs of these sequences that Verify accepts.
std::vector<uint32_t> PackedTokens(const PackSpec& spec,
                                   absl::Span<const uint32_t> lengths,
                                   uint64_t first_ordinal, const Packs& packs);

// Where the unit with this index, below UnitCount, begins in its sequence.
uint32_t UnitOffset(const PackSpec& spec, uint32_t length, uint32_t index);

// The fate of a sequence that is not in a pack whole.
struct Fate {
  enum class Kind { kEmpty, kDropped, kTruncated, kSplit };

  uint64_t ordinal;
  Kind kind;
  uint32_t length;
  uint32_t packed_tokens;  // in all of its units; the rest is lost
  uint32_t units;
};

// The fates of these sequences, ascending by ordinal; `first_ordinal` is that
// of lengths[0].
std::vector<Fate> Fates(const PackSpec& spec,
                        absl::Span<const uint32_t> lengths,
                        uint64_t first_ordinal);

// What came in and what becomes of it:
//
//   tokens    = packed_tokens + truncated_tokens + dropped_tokens
//   units     = sequences - dropped_sequences - empty_sequences + extra_pieces
struct IntakeCounts {
  uint64_t sequences = 0;
  uint64_t tokens = 0;

  uint64_t units = 0;
  uint64_t packed_tokens = 0;     // of the units
  uint64_t footprint_tokens = 0;  // of the units

  uint64_t empty_sequences = 0;
  uint64_t dropped_sequences = 0;  // over-long ones; empty ones are not counted
  uint64_t dropped_tokens = 0;
  uint64_t truncated_sequences = 0;
  uint64_t truncated_tokens = 0;
  uint64_t split_sequences = 0;
  uint64_t extra_pieces = 0;  // pieces beyond the first of each sequence

  IntakeCounts& operator+=(const IntakeCounts& other);
  IntakeCounts& operator-=(const IntakeCounts& other);
  IntakeCounts operator*(uint64_t times) const;
};

// O(lengths), about a nanosecond each.
IntakeCounts CountIntake(const PackSpec& spec,
                         absl::Span<const uint32_t> lengths);

}  // namespace packhouse

#endif  // PACKHOUSE_POLICY_H_
