// Small truths for the tests of whole-list plans, by trying everything.

#ifndef PACKHOUSE_TESTS_PACKING_OPTIMUM_H_
#define PACKHOUSE_TESTS_PACKING_OPTIMUM_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "absl/types/span.h"
#include "packing/footprint_group.h"

namespace packhouse {

// The fewest packs: each length in turn goes into every open pack or a new one.
inline uint64_t Optimum(std::vector<uint32_t> lengths, uint64_t capacity,
                        uint64_t max_units) {
  std::sort(lengths.rbegin(), lengths.rend());
  uint64_t best = lengths.size();
  std::vector<uint64_t> used;
  std::vector<uint64_t> held;
  const std::function<void(size_t)> place = [&](size_t i) {
    if (used.size() >= best) return;
    if (i == lengths.size()) {
      best = used.size();
      return;
    }
    for (size_t p = 0; p < used.size(); ++p) {
      if (used[p] + lengths[i] > capacity || held[p] == max_units) continue;
      used[p] += lengths[i];
      ++held[p];
      place(i + 1);
      used[p] -= lengths[i];
      --held[p];
    }
    used.push_back(lengths[i]);
    held.push_back(1);
    place(i + 1);
    used.pop_back();
    held.pop_back();
  };
  place(0);
  return best;
}

// Whether the groups are legal packs of just these units.
inline bool IsPlanOf(const FootprintGroups& groups,
                     absl::Span<const FootprintCount> counts, uint64_t capacity,
                     uint64_t max_units) {
  std::map<uint32_t, uint64_t> left;
  for (const FootprintCount& c : counts) left[c.footprint] = c.count;
  for (const FootprintGroup& group : groups) {
    uint64_t used = 0;
    uint64_t units = 0;
    uint64_t longer = ~uint64_t{0};
    if (group.count == 0 || group.footprints.empty()) return false;
    for (const FootprintCount& c : group.footprints) {
      if (c.footprint >= longer || c.count == 0) return false;
      longer = c.footprint;
      used += c.footprint * c.count;
      units += c.count;
      if (left[c.footprint] < c.count * group.count) return false;
      left[c.footprint] -= c.count * group.count;
    }
    if (used > capacity || units > max_units) return false;
  }
  return std::all_of(left.begin(), left.end(),
                     [](const auto& entry) { return entry.second == 0; });
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_PACKING_OPTIMUM_H_
