#include "packing/depth_aware_rule.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "packing/bitmap_tree.h"
#include "packing/decreasing_placer.h"
#include "packing/footprint_ranks.h"
#include "packing/footprint_sort.h"
#include "packing/placement.h"
#include "packing/units.h"
#include "packing/windowed_rule.h"

namespace packhouse {
namespace {

__extension__ typedef __int128 Wide;

// The units of a window that are in no pack yet. Equal ones form a class;
// classes are numbered from 0 by descending footprint, so that the largest unit
// within a room is in the first class from the room's own on that is not empty.
class UnitsLeft {
 public:
  static constexpr uint32_t kNone = BitmapTree::kNone;

  // All of `units`, which are sorted as FootprintSort does and must stay.
  void Reset(absl::Span<const SortedUnit> units) {
    units_ = units;
    count_ = static_cast<uint32_t>(units.size());
    sum_ = 0;
    classes_.clear();
    for (uint32_t i = 0; i < units.size(); ++i) {
      const uint32_t footprint = units[i].footprint;
      sum_ += footprint;
      if (classes_.empty() || classes_.back().footprint != footprint) {
        classes_.push_back({footprint, i, i});
      }
      ++classes_.back().end;
    }
    const uint32_t classes = static_cast<uint32_t>(classes_.size());
    ranks_.Reset(units);
    occupied_.Reset(classes + 1);  // one more for rooms that none fits
    for (uint32_t c = 0; c < classes; ++c) occupied_.Insert(c);
  }

  uint32_t count() const { return count_; }
  uint64_t sum() const { return sum_; }

  // The class of the largest unit left, of the largest within `room`, of the
  // smallest within `room`; kNone where there is none.
  uint32_t Largest() const { return occupied_.Next(0); }
  uint32_t LargestWithin(uint32_t room) const {
    return occupied_.Next(ranks_.size() - ranks_.Fitting(room));
  }
  uint32_t SmallestWithin(uint32_t room) {
    const uint32_t c = occupied_.Last();
    return c != kNone && classes_[c].footprint <= room ? c : kNone;
  }

  // Takes the unit of a class, not empty, that arrived first.
  const SortedUnit& Take(uint32_t c) {
    Class& taken = classes_[c];
    const SortedUnit& unit = units_[taken.begin++];
    if (taken.begin == taken.end) occupied_.Erase(c);
    --count_;
    sum_ -= unit.footprint;
    return unit;
  }

 private:
  struct Class {
    uint32_t footprint;
    uint32_t begin;  // of those left, in units_
    uint32_t end;
  };

  absl::Span<const SortedUnit> units_;
  uint32_t count_ = 0;
  uint64_t sum_ = 0;
  std::vector<Class> classes_;
  FootprintRanks ranks_;
  BitmapTree occupied_;  // classes that have units
};

class DepthAwarePacker {
 public:
  explicit DepthAwarePacker(const Units& units)
      : capacity_(units.capacity),
        max_units_(units.max_sequences),
        lpfhp_(units) {}

  void Pack(absl::Span<const uint32_t> footprints, uint64_t first,
            Packs* packs) {
    const absl::Span<const SortedUnit> units = sort_.Descending(footprints);
    lpfhp_.Place(units, &lpfhp_placement_);
    const bool level = MeetsLimit(lpfhp_placement_) &&
                       PlaceLevel(units, lpfhp_placement_.packs.size());
    releaser_.Release(level ? level_placement_ : lpfhp_placement_, first,
                      packs);
  }

 private:
  bool MeetsLimit(const Placement& placement) const {
    return std::any_of(placement.packs.begin(), placement.packs.end(),
                       [this](const Placement::Pack& pack) {
                         return pack.units == max_units_;
                       });
  }

  // True if all units are in fewer packs than `packs`; gives up where not.
  bool PlaceLevel(absl::Span<const SortedUnit> units, size_t packs) {
    left_.Reset(units);
    level_placement_.Reset(units.size());
    while (left_.count() > 0) {
      if (level_placement_.packs.size() + 1 >= packs) return false;
      FillPack();
    }
    return true;
  }

  void FillPack() {
    const uint32_t pack = static_cast<uint32_t>(level_placement_.packs.size());
    uint32_t* const pack_of = level_placement_.pack_of.data();
    const SortedUnit opener = left_.Take(left_.Largest());
    pack_of[opener.index] = pack;
    uint32_t room = capacity_ - opener.footprint;
    uint32_t slots = max_units_ - 1;
    while (slots > 0 && left_.count() > 0) {
      const uint32_t c = Choose(room, slots);
      if (c == UnitsLeft::kNone) break;
      const SortedUnit& unit = left_.Take(c);
      pack_of[unit.index] = pack;
      room -= unit.footprint;
      --slots;
    }
    level_placement_.packs.push_back({max_units_ - slots, opener.index});
  }

  uint32_t Choose(uint32_t room, uint32_t slots) {
    const uint32_t share = room / slots;
    if (!SlotsRunOut(share)) return left_.LargestWithin(room);
    const uint32_t c = left_.LargestWithin(share);
    return c != UnitsLeft::kNone ? c : left_.SmallestWithin(room);
  }

  // Whether what is left after a unit of this size needs as many packs for its
  // number as for its sum.
  bool SlotsRunOut(uint32_t share) const {
    const Wide count = Wide{left_.count()} - 1;
    const Wide sum = Wide{left_.sum()} - share;
    return count * capacity_ >= sum * max_units_;
  }

  const uint32_t capacity_;
  const uint32_t max_units_;
  FootprintSort sort_;
  DecreasingPlacer<Prefer::kLeastRoom> lpfhp_;
  UnitsLeft left_;
  Placement lpfhp_placement_;
  Placement level_placement_;
  Releaser releaser_;
};

}  // namespace

std::unique_ptr<Rule> NewDepthAwareRule(const PackSpec& spec) {
  return std::make_unique<WindowedRule<DepthAwarePacker>>(spec);
}

}  // namespace packhouse
