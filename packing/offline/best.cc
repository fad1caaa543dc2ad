#include "packing/offline/best.h"

#include <algorithm>
#include <utility>

#include "packing/offline/decreasing.h"
#include "packing/offline/fill.h"
#include "packing/offline/reference.h"

namespace packhouse {
namespace {

// Of the time, what the subset sums may take before the linear program starts.
constexpr double kFillShare = 0.25;

class Search {
 public:
  Search(absl::Span<const FootprintCount> counts, uint32_t capacity,
         uint32_t max_units)
      : counts_(counts), capacity_(capacity), max_units_(max_units) {
    best_.lower_bound_packs = LowerBound(counts, capacity, max_units);
  }

  bool IsOptimal() const { return packs_ <= best_.lower_bound_packs; }
  bool HasLimit() const {
    return !counts_.empty() &&
           max_units_ < capacity_ / counts_.front().footprint;
  }

  // Keeps the plan if it has fewer packs than all before.
  void Offer(const std::string& name, FootprintGroups groups) {
    const uint64_t packs = CountPacks(groups);
    if (packs >= packs_ || (groups.empty() && !counts_.empty())) return;
    packs_ = packs;
    best_.groups = std::move(groups);
    best_.found_by = name;
  }

  void TryQuickRules() {
    Offer("lpfhp", Decreasing(Prefer::kLeastRoom));
    if (!IsOptimal()) Offer("spfhp", Decreasing(Prefer::kMostRoom));
    if (!IsOptimal() && HasLimit()) {
      Offer("even", PackEvenly(counts_, capacity_, max_units_));
    }
    if (!IsOptimal()) {
      Offer("lpfhp_reference",
            PackLpfhpReference(counts_, capacity_, max_units_));
      Offer("spfhp_reference",
            PackSpfhpReference(counts_, capacity_, max_units_));
    }
  }

  void TrySubsetSums(const SpentTime& spent) {
    if (IsOptimal() || HasLimit()) return;
    FootprintGroups groups = PackBySubsetSum(
        counts_, capacity_, [&] { return spent() >= kFillShare; });
    best_.is_cut_short = groups.empty();
    Offer("subset_sum", std::move(groups));
  }

  void TryLinearProgram(const SpentTime& spent) {
    if (IsOptimal()) return;
    const double before = spent();
    // Its own share of the time begins now.
    const auto left = [&] {
      return before >= 1 ? 1 : (spent() - before) / (1 - before);
    };
    LpPlan plan = PackByColumns(
        counts_, capacity_, max_units_, best_.lower_bound_packs,
        [&](absl::Span<const FootprintCount> rest) { return PackRest(rest); },
        left);
    best_.lower_bound_packs =
        std::max(best_.lower_bound_packs, plan.lower_bound_packs);
    best_.is_cut_short |= plan.is_cut_short;
    Offer("columns", std::move(plan.groups));
  }

  BestPlan Finish() && { return std::move(best_); }

 private:
  FootprintGroups Decreasing(Prefer prefer) const {
    return PackDecreasing(counts_, capacity_, max_units_, prefer);
  }

  // What is left beside the packs of a linear program.
  FootprintGroups PackRest(absl::Span<const FootprintCount> rest) const {
    FootprintGroups groups =
        PackDecreasing(rest, capacity_, max_units_, Prefer::kLeastRoom);
    if (HasLimit()) {
      FootprintGroups other = PackEvenly(rest, capacity_, max_units_);
      if (CountPacks(other) < CountPacks(groups)) groups = std::move(other);
    }
    return groups;
  }

  const absl::Span<const FootprintCount> counts_;
  const uint32_t capacity_;
  const uint32_t max_units_;
  BestPlan best_;
  uint64_t packs_ = ~uint64_t{0};
};

}  // namespace

BestPlan PackBest(absl::Span<const FootprintCount> counts, uint32_t capacity,
                  uint32_t max_units, absl::Span<const Candidate> candidates,
                  bool use_lp, const SpentTime& spent) {
  Search search(counts, capacity, max_units);
  search.TryQuickRules();
  search.TrySubsetSums(spent);
  if (use_lp) search.TryLinearProgram(spent);
  // Last, so that a small budget goes where it helps most.
  for (const Candidate& candidate : candidates) {
    if (!search.IsOptimal()) search.Offer(candidate.name, candidate.plan());
  }
  return std::move(search).Finish();
}

}  // namespace packhouse
