// Rules that fill one pack after the other, each around the longest unit left,
// over counts: a pack is repeated while there are units for it.

#ifndef PACKHOUSE_PACKING_OFFLINE_FILL_H_
#define PACKHOUSE_PACKING_OFFLINE_FILL_H_

#include <cstdint>
#include <functional>

#include "absl/types/span.h"
#include "packing/footprint_group.h"
#include "packing/lower_bound.h"

namespace packhouse {

// Fills each pack as full as can be: the rest beside its longest unit by an
// exact subset sum, which takes long lengths first and stops at the first
// subset that leaves nothing empty. Knows no limit on the units of a pack.
// Empty where `out_of_time`, asked before each pack, was true.
FootprintGroups PackBySubsetSum(absl::Span<const FootprintCount> counts,
                                uint32_t capacity,
                                const std::function<bool()>& out_of_time);

// For when the limit on the units of a pack binds: fills each so that room and
// places run out together. With R room and s places left it takes the longest
// unit that leaves s - 1 units of mean footprint their room; where there is
// none, the longest of at most R / s.
FootprintGroups PackEvenly(absl::Span<const FootprintCount> counts,
                           uint32_t capacity, uint32_t max_units);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_FILL_H_
