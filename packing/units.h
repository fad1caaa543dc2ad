// A spec in the terms in which packs are filled: everything counted in
// multiples of the alignment. It loses nothing, since every footprint is a
// multiple, and what remains of the capacity can never be used.

#ifndef PACKHOUSE_PACKING_UNITS_H_
#define PACKHOUSE_PACKING_UNITS_H_

#include <cstdint>
#include <limits>

#include "packhouse/spec.h"

namespace packhouse {

struct Units {
  uint32_t alignment;  // tokens that one stands for
  uint32_t capacity;
  uint32_t max_sequences;  // of a pack; the largest value where unlimited

  // Requires a valid spec.
  explicit Units(const PackSpec& spec)
      : alignment(static_cast<uint32_t>(spec.sequence_alignment)),
        capacity(static_cast<uint32_t>(spec.capacity_tokens) / alignment),
        max_sequences(
            spec.max_sequences_per_pack == 0
                ? std::numeric_limits<uint32_t>::max()
                : static_cast<uint32_t>(spec.max_sequences_per_pack)) {}

  // The footprint of a length that is at least 1.
  uint32_t Footprint(uint32_t length) const {
    return (length - 1) / alignment + 1;
  }
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_UNITS_H_
