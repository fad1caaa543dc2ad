// From counts back to units.

#ifndef PACKHOUSE_PACKING_OFFLINE_BIND_H_
#define PACKHOUSE_PACKING_OFFLINE_BIND_H_

#include <cstdint>

#include "absl/types/span.h"
#include "packhouse/packs.h"
#include "packing/footprint_group.h"

namespace packhouse {

// Appends the packs of `groups`, which hold just the units with these
// footprints, numbered from 0. Units of one footprint go into the groups' packs
// in order of arrival. Packs come in the order of their openers: the longest
// unit of each, of equal ones the first.
void BindUnits(absl::Span<const uint32_t> footprints,
               const FootprintGroups& groups, Packs* packs);

// The other way: what the packs hold, each a group of its own.
FootprintGroups GroupsOf(const Packs& packs,
                         absl::Span<const uint32_t> footprints);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OFFLINE_BIND_H_
