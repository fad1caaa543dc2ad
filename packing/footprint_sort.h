// Sorts the units of a window by descending footprint, stably.
//
// A radix sort, the least significant digit first. It looks at footprints only
// up to the longest one and digits that are equal in all units cost nothing,
// so memory is O(units) whatever the capacity.

#ifndef PACKHOUSE_PACKING_FOOTPRINT_SORT_H_
#define PACKHOUSE_PACKING_FOOTPRINT_SORT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace packhouse {

struct SortedUnit {
  uint32_t footprint;
  uint32_t index;
};

class FootprintSort {
 public:
  // The units of `footprints` by descending footprint, equal ones by ascending
  // index. Valid until the next call. Fewer than 2^32 units.
  absl::Span<const SortedUnit> Descending(
      absl::Span<const uint32_t> footprints);

 private:
  std::vector<SortedUnit> units_;
  std::vector<SortedUnit> scratch_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_FOOTPRINT_SORT_H_
