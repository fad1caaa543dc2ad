// How often each length or footprint occurs: ascending, each once.

#ifndef PACKHOUSE_PACKING_COUNTS_H_
#define PACKHOUSE_PACKING_COUNTS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "packhouse/histogram.h"
#include "packing/lower_bound.h"
#include "packing/units.h"

namespace packhouse {

std::vector<FootprintCount> CountFootprints(
    absl::Span<const uint32_t> footprints);

// `lengths` must ascend.
std::vector<FootprintCount> CountFootprints(
    absl::Span<const LengthCount> lengths, const Units& units);

std::vector<LengthCount> CountLengths(absl::Span<const uint32_t> lengths);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_COUNTS_H_
