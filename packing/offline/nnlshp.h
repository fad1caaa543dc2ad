// NNLSHP as Krell et al. published it (arXiv 2107.02027): all ways to fill a
// pack *exactly* with up to three lengths, and how often each is used by
// non-negative least squares, rounded.
//
// Small errors at the shortest lengths cost little, so their weight is 0.09.
// Rounding leaves some units over, and each of them gets a pack that is
// reserved for it and the length that would fill it; and it leaves slots that
// no unit is left for, which stay empty.

#ifndef PACKHOUSE_PACKING_OFFLINE_NNLSHP_H_
#define PACKHOUSE_PACKING_OFFLINE_NNLSHP_H_

#include <cstdint>

#include "absl/types/span.h"
#include "packing/footprint_group.h"
#include "packing/lower_bound.h"

namespace packhouse {

// `counts` has ascending footprints from 1 to the capacity. Time grows with the
// cube of the capacity: a second at 512.
FootprintGroups PackNnlshp(absl::Span<const FootprintCount> counts,
                           uint32_t capacity, uint32_t max_units);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_NNLSHP_H_
