// Places the units of a window as the decreasing rules do (decreasing_rule.h).

#ifndef PACKHOUSE_PACKING_DECREASING_PLACER_H_
#define PACKHOUSE_PACKING_DECREASING_PLACER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "packing/footprint_sort.h"
#include "packing/open_packs.h"
#include "packing/placement.h"
#include "packing/units.h"

namespace packhouse {

template <Prefer kPrefer>
class DecreasingPlacer {
 public:
  explicit DecreasingPlacer(const Units& units)
      : capacity_(units.capacity), max_units_(units.max_sequences) {}

  // Replaces *placement. `units` by descending footprint, equal ones by
  // ascending index, at least one.
  void Place(absl::Span<const SortedUnit> units, Placement* placement) {
    using Open = typename OpenPacks<kPrefer>::Pack;
    open_.Reset(units, capacity_);
    placement->Reset(units.size());
    std::vector<Placement::Pack>& packs = placement->packs;
    uint32_t* const pack_of = placement->pack_of.data();
    const SortedUnit* unit = units.begin();
    while (unit != units.end()) {
      const uint32_t footprint = unit->footprint;
      Open pack = open_.Take(footprint);
      const bool is_new = pack.number == OpenPacks<kPrefer>::kNone;
      if (is_new) {
        pack = {static_cast<uint32_t>(packs.size()), capacity_};
        packs.push_back({0, unit->index});
      }
      // A new pack has more room than any other that is open (those cannot
      // take even one unit like this), so both rules stay with it for as many
      // equal units as it takes. lpfhp stays with any pack: the tightest gets
      // tighter still.
      const bool stays = is_new || kPrefer == Prefer::kLeastRoom;
      uint32_t count = packs[pack.number].units;
      do {
        pack_of[unit->index] = pack.number;
        pack.room -= footprint;
        ++count;
        ++unit;
      } while (stays && pack.room >= footprint && count < max_units_ &&
               unit != units.end() && unit->footprint == footprint);
      packs[pack.number].units = count;
      if (count < max_units_) open_.File(pack);
    }
  }

 private:
  const uint32_t capacity_;
  const uint32_t max_units_;
  OpenPacks<kPrefer> open_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_DECREASING_PLACER_H_
