// The figures that follow from counts alone.

#ifndef PACKHOUSE_PACKING_REPORT_H_
#define PACKHOUSE_PACKING_REPORT_H_

#include <cstdint>

#include "absl/types/span.h"
#include "packhouse/histogram.h"
#include "packhouse/plan_check.h"
#include "packhouse/spec.h"

namespace packhouse {

// The report of `packs` packs that hold these lengths (ascending, each once),
// without what depends on the order: max_displacement and pad_to_longest_slots
// are 0. Requires a valid spec and lengths that can be packed.
PackReport ReportOfCounts(absl::Span<const LengthCount> lengths,
                          const PackSpec& spec, uint64_t packs);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_REPORT_H_
