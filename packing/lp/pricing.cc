#include "packing/lp/pricing.h"

#include <algorithm>

namespace packhouse {
namespace {

// The best with an item: its value on top of what the room below it holds.
void Improve(const int32_t* __restrict below, const int32_t* __restrict without,
             int32_t value, size_t rooms, int32_t* __restrict with,
             uint8_t* __restrict taken) {
  for (size_t i = 0; i < rooms; ++i) {
    const int32_t candidate = below[i] + value;
    taken[i] = candidate > without[i];
    with[i] = std::max(candidate, without[i]);
  }
}

}  // namespace

// A limit that the shortest length cannot reach needs no layers. Otherwise
// layer u holds the best packs of at most u + 1 units.
Pricing::Pricing(absl::Span<const uint32_t> footprints, uint32_t capacity,
                 uint32_t max_units)
    : footprints_(footprints),
      width_(size_t{capacity} + 1),
      max_units_(max_units),
      layers_(footprints.empty() || max_units >= capacity / footprints.front()
                  ? 1
                  : max_units) {}

uint64_t Pricing::MaxCopies(size_t index, uint64_t count) const {
  return std::min<uint64_t>(
      {count, max_units_, (width_ - 1) / footprints_[index]});
}

double Pricing::Steps(absl::Span<const uint64_t> counts) const {
  double items = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    for (uint64_t n = MaxCopies(i, counts[i]); n > 0; n /= 2) ++items;
  }
  return items * static_cast<double>(layers_) * static_cast<double>(width_);
}

void Pricing::AddItem(uint32_t index, uint32_t units, int32_t price) {
  const size_t size = size_t{footprints_[index]} * units;
  const int32_t value = price * static_cast<int32_t>(units);
  const size_t table = layers_ * width_;
  const size_t taken_begin = items_.size() * table;
  items_.push_back({index, units});
  taken_.resize(std::max(taken_.size(), taken_begin + table));
  for (size_t layer = 0; layer < layers_; ++layer) {
    const size_t row = layer * width_;
    uint8_t* const taken = taken_.data() + taken_begin + row;
    const int32_t* const without = values_.data() + row;
    int32_t* const with = next_values_.data() + row;
    // Below a layer that is too low for the item there is no pack to add it to.
    const bool fits = layers_ == 1 || layer + 1 >= units;
    const size_t first = fits ? std::min(size, width_) : width_;
    std::copy(without, without + first, with);
    std::fill(taken, taken + first, uint8_t{0});
    if (first == width_) continue;
    // `units` layers below; below the first one there is the empty pack.
    if (layers_ > 1 && layer + 1 == units) {
      for (size_t room = first; room < width_; ++room) {
        taken[room] = value > without[room];
        with[room] = std::max(value, without[room]);
      }
    } else {
      const size_t below = layers_ == 1 ? row : row - units * width_;
      Improve(values_.data() + below, without + first, value, width_ - first,
              with + first, taken + first);
    }
  }
  values_.swap(next_values_);
}

int32_t Pricing::Solve(absl::Span<const int32_t> prices,
                       absl::Span<const uint64_t> counts) {
  items_.clear();
  candidates_.clear();
  values_.assign(layers_ * width_, 0);
  next_values_.resize(values_.size());
  int32_t best = 0;
  for (uint32_t i = 0; i < footprints_.size(); ++i) {
    const uint64_t copies = MaxCopies(i, counts[i]);
    if (copies == 0 || prices[i] == 0) continue;
    // All copies but one, then that one as the longest of a pack.
    uint64_t left = copies - 1;
    for (uint64_t units = 1; left > 0; units *= 2) {
      const uint64_t taken = std::min(units, left);
      AddItem(i, static_cast<uint32_t>(taken), prices[i]);
      left -= taken;
    }
    const size_t room = width_ - 1 - footprints_[i];
    const size_t others = layers_ == 1 ? 0 : layers_ - 2;
    const int32_t value = prices[i] + values_[others * width_ + room];
    candidates_.push_back({value, i, static_cast<uint32_t>(items_.size())});
    best = std::max(best, value);
    // Where a pack is one unit nothing joins it.
    if (max_units_ > 1) AddItem(i, 1, prices[i]);
  }
  return best;
}

Pattern Pricing::Trace(const Candidate& candidate) const {
  Pattern pattern = {{candidate.index, 1}};
  size_t room = width_ - 1 - footprints_[candidate.index];
  // Layer `free - 1` holds the packs of at most `free` units.
  uint32_t free = layers_ == 1 ? 1 : layers_ - 1;
  for (size_t i = candidate.items; i-- > 0 && free > 0;) {
    const size_t layer = layers_ == 1 ? 0 : free - 1;
    if (taken_[(i * layers_ + layer) * width_ + room] == 0) continue;
    const Item& item = items_[i];
    room -= size_t{footprints_[item.index]} * item.units;
    if (layers_ > 1) free -= item.units;
    if (pattern.back().index == item.index) {
      pattern.back().count += item.units;
    } else {
      pattern.push_back({item.index, item.units});
    }
  }
  return pattern;
}

std::vector<Pattern> Pricing::Best(int32_t value, size_t limit) const {
  std::vector<Candidate> chosen;
  for (const Candidate& candidate : candidates_) {
    if (candidate.value >= value) chosen.push_back(candidate);
  }
  std::stable_sort(
      chosen.begin(), chosen.end(),
      [](const Candidate& a, const Candidate& b) { return a.value > b.value; });
  if (chosen.size() > limit) chosen.resize(limit);
  std::vector<Pattern> patterns;
  patterns.reserve(chosen.size());
  for (const Candidate& candidate : chosen) {
    patterns.push_back(Trace(candidate));
  }
  return patterns;
}

}  // namespace packhouse
