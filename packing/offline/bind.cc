#include "packing/offline/bind.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "packing/footprint_sort.h"

namespace packhouse {

void BindUnits(absl::Span<const uint32_t> footprints,
               const FootprintGroups& groups, Packs* packs) {
  FootprintSort sort;
  const absl::Span<const SortedUnit> units = sort.Descending(footprints);
  // By footprint, descending: where in `units` its next unit is.
  std::vector<std::pair<uint32_t, size_t>> next;
  for (size_t i = 0; i < units.size(); ++i) {
    if (next.empty() || next.back().first != units[i].footprint) {
      next.emplace_back(units[i].footprint, i);
    }
  }
  const auto next_of = [&](uint32_t footprint) -> size_t& {
    return std::lower_bound(
               next.begin(), next.end(), footprint,
               [](const auto& a, uint32_t f) { return a.first > f; })
        ->second;
  };
  Packs bound;
  std::vector<std::pair<uint64_t, size_t>> openers;  // and the pack's number
  for (const FootprintGroup& group : groups) {
    for (uint64_t pack = 0; pack < group.count; ++pack) {
      const size_t begin = bound.ordinals.size();
      for (const FootprintCount& c : group.footprints) {
        size_t& from = next_of(c.footprint);
        for (uint64_t k = 0; k < c.count; ++k) {
          bound.ordinals.push_back(units[from++].index);
        }
      }
      openers.emplace_back(bound.ordinals[begin], bound.size());
      std::sort(bound.ordinals.begin() + static_cast<std::ptrdiff_t>(begin),
                bound.ordinals.end());
      bound.offsets.push_back(bound.ordinals.size());
    }
  }
  std::sort(openers.begin(), openers.end());
  for (const auto& [opener, pack] : openers) {
    const absl::Span<const uint64_t> ordinals = bound[pack];
    packs->ordinals.insert(packs->ordinals.end(), ordinals.begin(),
                           ordinals.end());
    packs->offsets.push_back(packs->ordinals.size());
  }
}

FootprintGroups GroupsOf(const Packs& packs,
                         absl::Span<const uint32_t> footprints) {
  FootprintGroups groups;
  std::vector<uint32_t> content;
  for (size_t i = 0; i < packs.size(); ++i) {
    content.clear();
    for (uint64_t unit : packs[i]) content.push_back(footprints[unit]);
    std::sort(content.rbegin(), content.rend());
    FootprintGroup group = {{}, 1};
    for (uint32_t footprint : content) {
      if (group.footprints.empty() ||
          group.footprints.back().footprint != footprint) {
        group.footprints.push_back({footprint, 0});
      }
      ++group.footprints.back().count;
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace packhouse
