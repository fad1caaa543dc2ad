// The batch forms of SPFHP and LPFHP as Krell, Kosec, Perez and Fitzgibbon
// published them ("Efficient Sequence Packing without Cross-contamination",
// arXiv 2107.02027), for audit against their tables: pack for pack the same
// numbers. Both take the lengths from the longest down and place all units of a
// length at once into groups of equal packs.
//
// SPFHP adds one unit to each pack with the most room, then to those with the
// next most. Where no pack has room left, every remaining unit opens a pack of
// its own, even if many would fit into one: with many equal lengths that is
// very bad (docs/offline.md), and why `spfhp` places one unit at a time.
//
// LPFHP adds to the packs with the least room as many units as fit, looks for
// the least room again, and opens packs of as many units as fit.
//
// Of groups with equal room it is always the one that was filed last.

#ifndef PACKHOUSE_PACKING_OFFLINE_REFERENCE_H_
#define PACKHOUSE_PACKING_OFFLINE_REFERENCE_H_

#include <cstdint>

#include "absl/types/span.h"
#include "packing/footprint_group.h"
#include "packing/lower_bound.h"

namespace packhouse {

// `counts` has ascending footprints from 1 to the capacity.
FootprintGroups PackSpfhpReference(absl::Span<const FootprintCount> counts,
                                   uint32_t capacity, uint32_t max_units);
FootprintGroups PackLpfhpReference(absl::Span<const FootprintCount> counts,
                                   uint32_t capacity, uint32_t max_units);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_REFERENCE_H_
