#include "packing/offline/pack_counts.h"

#include <utility>

#include "packing/offline/nnlshp.h"
#include "packing/offline/reference.h"
#include "packing/units.h"

namespace packhouse {

FootprintGroups PackCounts(const PackSpec& spec,
                           absl::Span<const FootprintCount> counts,
                           absl::Span<const Candidate> candidates,
                           const SpentTime& spent, PlanNotes* notes) {
  const Units units(spec);
  if (spec.algorithm == "spfhp_reference") {
    return PackSpfhpReference(counts, units.capacity, units.max_sequences);
  }
  if (spec.algorithm == "lpfhp_reference") {
    return PackLpfhpReference(counts, units.capacity, units.max_sequences);
  }
  if (spec.algorithm == "nnlshp") {
    return PackNnlshp(counts, units.capacity, units.max_sequences);
  }
  BestPlan best = PackBest(counts, units.capacity, units.max_sequences,
                           candidates, LpAvailable(), spent);
  if (notes != nullptr) {
    notes->lower_bound_packs = best.lower_bound_packs;
    notes->found_by = std::move(best.found_by);
    notes->lp_available = LpAvailable();
    notes->is_cut_short = best.is_cut_short;
  }
  return std::move(best.groups);
}

}  // namespace packhouse
