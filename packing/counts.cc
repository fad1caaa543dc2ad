#include "packing/counts.h"

#include <algorithm>

#include "packing/footprint_sort.h"

namespace packhouse {

std::vector<FootprintCount> CountFootprints(
    absl::Span<const uint32_t> footprints) {
  FootprintSort sort;
  std::vector<FootprintCount> counts;
  for (const SortedUnit& unit : sort.Descending(footprints)) {
    if (counts.empty() || counts.back().footprint != unit.footprint) {
      counts.push_back({unit.footprint, 0});
    }
    ++counts.back().count;
  }
  std::reverse(counts.begin(), counts.end());
  return counts;
}

std::vector<FootprintCount> CountFootprints(
    absl::Span<const LengthCount> lengths, const Units& units) {
  std::vector<FootprintCount> counts;
  for (const LengthCount& c : lengths) {
    const uint32_t footprint = units.Footprint(c.length);
    if (counts.empty() || counts.back().footprint != footprint) {
      counts.push_back({footprint, 0});
    }
    counts.back().count += c.count;
  }
  return counts;
}

std::vector<LengthCount> CountLengths(absl::Span<const uint32_t> lengths) {
  std::vector<LengthCount> counts;
  for (const FootprintCount& c : CountFootprints(lengths)) {
    counts.push_back({c.footprint, c.count});
  }
  return counts;
}

}  // namespace packhouse
