// The figures that follow from counts alone.

#ifndef PACKHOUSE_PACKING_REPORT_H_
#define PACKHOUSE_PACKING_REPORT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "packhouse/histogram.h"
#include "packhouse/plan_check.h"
#include "packhouse/spec.h"

namespace packhouse {

// What the policies of the spec make of sequences with these lengths
// (ascending, each once): the lengths of the units, likewise. Requires a valid
// spec and lengths that CheckLengths accepts.
std::vector<LengthCount> UnitLengths(absl::Span<const LengthCount> lengths,
                                     const PackSpec& spec);

// The report of `packs` packs that hold sequences with these lengths
// (ascending, each once), without what depends on the order: max_displacement
// and pad_to_longest_slots are 0. Requires a valid spec and lengths that
// CheckLengths accepts.
PackReport ReportOfCounts(absl::Span<const LengthCount> lengths,
                          const PackSpec& spec, uint64_t packs);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_REPORT_H_
