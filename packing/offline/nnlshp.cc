#include "packing/offline/nnlshp.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "packing/offline/nnls.h"

namespace packhouse {
namespace {

// The published deepest pack: four lengths at 512 would be a million ways.
constexpr uint32_t kMaxDepth = 3;

constexpr uint32_t kLightFootprints = 8;
constexpr double kLightWeight = 0.09;

// The footprints of a pack, ascending.
using Strategy = std::vector<uint32_t>;

// Appends all ways to fill `room` with up to `depth` footprints of at least
// `shortest`, behind those of `start`.
void AppendStrategies(const Strategy& start, uint32_t shortest, uint32_t room,
                      uint32_t depth, std::vector<Strategy>* strategies) {
  Strategy full = start;
  full.push_back(room);
  strategies->push_back(std::move(full));
  if (depth == 1) return;
  for (uint32_t first = shortest; first <= room / 2; ++first) {
    Strategy next = start;
    next.push_back(first);
    AppendStrategies(next, first, room - first, depth - 1, strategies);
  }
}

double Weight(uint32_t footprint) {
  return footprint <= kLightFootprints ? kLightWeight : 1;
}

// How often to use each strategy, before rounding.
std::vector<double> Repeats(absl::Span<const Strategy> strategies,
                            absl::Span<const uint64_t> histogram) {
  std::vector<SparseColumn> columns;
  columns.reserve(strategies.size());
  for (const Strategy& strategy : strategies) {
    SparseColumn column;
    for (uint32_t footprint : strategy) {
      if (column.empty() || column.back().row != footprint - 1) {
        column.push_back({footprint - 1, 0});
      }
      column.back().value += Weight(footprint);
    }
    columns.push_back(std::move(column));
  }
  std::vector<double> b;
  for (uint32_t i = 0; i < histogram.size(); ++i) {
    b.push_back(Weight(i + 1) * static_cast<double>(histogram[i]));
  }
  return NonNegativeLeastSquares(columns, b);
}

// Puts units into the slots of packs with these strategies while there are any;
// packs without a single one are left out.
class SlotFiller {
 public:
  // `left` has the units of each footprint, from 1.
  explicit SlotFiller(std::vector<uint64_t> left) : left_(std::move(left)) {}

  uint64_t left(uint32_t footprint) const { return left_[footprint - 1]; }

  void Fill(const Strategy& strategy, uint64_t packs) {
    while (packs > 0) {
      FootprintGroup group = {{}, packs};
      for (auto slot = strategy.rbegin(); slot != strategy.rend();) {
        const uint32_t footprint = *slot;
        const auto end = std::find_if(
            slot, strategy.rend(), [&](uint32_t f) { return f != footprint; });
        const uint64_t slots = static_cast<uint64_t>(end - slot);
        slot = end;
        const uint64_t units = std::min(slots, left(footprint));
        if (units == 0) continue;
        group.footprints.push_back({footprint, units});
        group.count = std::min(group.count, left(footprint) / units);
      }
      if (group.footprints.empty()) return;
      for (const FootprintCount& c : group.footprints) {
        left_[c.footprint - 1] -= group.count * c.count;
      }
      packs -= group.count;
      groups_.push_back(std::move(group));
    }
  }

  FootprintGroups Finish() && { return std::move(groups_); }

 private:
  std::vector<uint64_t> left_;
  FootprintGroups groups_;
};

}  // namespace

FootprintGroups PackNnlshp(absl::Span<const FootprintCount> counts,
                           uint32_t capacity, uint32_t max_units) {
  std::vector<uint64_t> histogram(capacity);
  for (const FootprintCount& c : counts) histogram[c.footprint - 1] = c.count;
  std::vector<Strategy> strategies;
  AppendStrategies({}, 1, capacity, std::min(max_units, kMaxDepth),
                   &strategies);
  const std::vector<double> repeats = Repeats(strategies, histogram);
  SlotFiller filler(histogram);
  for (size_t i = 0; i < strategies.size(); ++i) {
    filler.Fill(strategies[i],
                static_cast<uint64_t>(std::nearbyint(repeats[i])));
  }
  // A pack of its own for each unit left; where the depth allows, the slot that
  // would fill it is reserved, but there is no unit for it: all are placed or
  // have such a pack themselves.
  for (uint32_t footprint = 1; footprint <= capacity; ++footprint) {
    filler.Fill({footprint}, filler.left(footprint));
  }
  return std::move(filler).Finish();
}

}  // namespace packhouse
