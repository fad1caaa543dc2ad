// Plans of whole lists as counts: units of one footprint are interchangeable,
// so equal packs are one group, and time and memory depend on the distinct
// footprints alone.

#ifndef PACKHOUSE_PACKING_FOOTPRINT_GROUP_H_
#define PACKHOUSE_PACKING_FOOTPRINT_GROUP_H_

#include <cstdint>
#include <vector>

#include "packing/lower_bound.h"

namespace packhouse {

// Packs that hold the same footprints.
struct FootprintGroup {
  std::vector<FootprintCount> footprints;  // of one pack: descending, each once
  uint64_t count;                          // of packs
};

using FootprintGroups = std::vector<FootprintGroup>;

inline uint64_t CountPacks(const FootprintGroups& groups) {
  uint64_t packs = 0;
  for (const FootprintGroup& group : groups) packs += group.count;
  return packs;
}

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_FOOTPRINT_GROUP_H_
