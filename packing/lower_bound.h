// How few packs any packing needs, from counts of footprints alone.

#ifndef PACKHOUSE_PACKING_LOWER_BOUND_H_
#define PACKHOUSE_PACKING_LOWER_BOUND_H_

#include <cstdint>

#include "absl/types/span.h"

namespace packhouse {

// So many units of one footprint.
struct FootprintCount {
  uint32_t footprint;
  uint64_t count;
};

// A lower bound on the packs of `capacity` that hold these units, at most
// `max_units` of them in each. `counts` has ascending footprints from 1 to the
// capacity. Some milliseconds, no memory.
uint64_t LowerBound(absl::Span<const FootprintCount> counts, uint32_t capacity,
                    uint64_t max_units);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_LOWER_BOUND_H_
