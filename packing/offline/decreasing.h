// The decreasing rules (docs/packing.md) over a whole list of counts: the packs
// of placing the units one by one, in time that depends on the distinct lengths
// alone.

#ifndef PACKHOUSE_PACKING_OFFLINE_DECREASING_H_
#define PACKHOUSE_PACKING_OFFLINE_DECREASING_H_

#include <vector>

#include "absl/types/span.h"
#include "packhouse/histogram.h"
#include "packing/footprint_group.h"
#include "packing/rule.h"
#include "packing/units.h"

namespace packhouse {

// `lengths` ascend, each once. Groups are in the order in which their first
// pack was opened.
std::vector<HistogramPlan::Group> PackDecreasing(
    absl::Span<const LengthCount> lengths, const Units& units, Prefer prefer);

// The same for footprints.
FootprintGroups PackDecreasing(absl::Span<const FootprintCount> counts,
                               uint32_t capacity, uint32_t max_units,
                               Prefer prefer);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_DECREASING_H_
