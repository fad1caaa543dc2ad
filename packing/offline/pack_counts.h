// The rules that look at a whole list at once, by name: counts in, groups of
// equal packs out.

#ifndef PACKHOUSE_PACKING_OFFLINE_PACK_COUNTS_H_
#define PACKHOUSE_PACKING_OFFLINE_PACK_COUNTS_H_

#include <vector>

#include "absl/types/span.h"
#include "packhouse/plan.h"
#include "packhouse/spec.h"
#include "packing/footprint_group.h"
#include "packing/lower_bound.h"
#include "packing/offline/best.h"

namespace packhouse {

// Packs by spec.algorithm, which must not be online. `counts` has ascending
// footprints in multiples of the alignment, none 0 times. `candidates` are
// offered to `best`. `notes` may be null.
FootprintGroups PackCounts(const PackSpec& spec,
                           absl::Span<const FootprintCount> counts,
                           absl::Span<const Candidate> candidates,
                           const SpentTime& spent, PlanNotes* notes);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_PACK_COUNTS_H_
