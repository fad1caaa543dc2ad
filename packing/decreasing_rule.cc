#include "packing/decreasing_rule.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/numeric/bits.h"
#include "packing/footprint_sort.h"
#include "packing/open_packs.h"
#include "packing/units.h"
#include "packing/windowed_rule.h"

namespace packhouse {
namespace {

// Packs one window at a time. Scratch memory is kept between windows, so that
// a unit costs no allocation.
template <Prefer kPrefer>
class DecreasingPacker {
 public:
  explicit DecreasingPacker(const Units& units)
      : capacity_(units.capacity), max_units_(units.max_sequences) {}

  // Appends the packs of one window; `first` is the number of its first unit.
  void Pack(absl::Span<const uint32_t> footprints, uint64_t first,
            Packs* packs) {
    const absl::Span<const SortedUnit> units = sort_.Descending(footprints);
    open_.Reset(units, capacity_);
    packs_.clear();
    pack_of_.resize(units.size());
    Place(units);
    Release(first, packs);
  }

 private:
  struct PackState {
    uint32_t units;
    uint32_t opener;  // index of its first, longest unit
  };

  void Place(absl::Span<const SortedUnit> units) {
    using Open = typename OpenPacks<kPrefer>::Pack;
    uint32_t* const pack_of = pack_of_.data();
    const SortedUnit* unit = units.begin();
    while (unit != units.end()) {
      const uint32_t footprint = unit->footprint;
      Open pack = open_.Take(footprint);
      const bool is_new = pack.number == OpenPacks<kPrefer>::kNone;
      if (is_new) {
        pack = {static_cast<uint32_t>(packs_.size()), capacity_};
        packs_.push_back({0, unit->index});
      }
      // A new pack has more room than any other that is open (those cannot
      // take even one unit like this), so both rules stay with it for as many
      // equal units as it takes. lpfhp stays with any pack: the tightest gets
      // tighter still.
      const bool stays = is_new || kPrefer == Prefer::kLeastRoom;
      uint32_t count = packs_[pack.number].units;
      do {
        pack_of[unit->index] = pack.number;
        pack.room -= footprint;
        ++count;
        ++unit;
      } while (stays && pack.room >= footprint && count < max_units_ &&
               unit != units.end() && unit->footprint == footprint);
      packs_[pack.number].units = count;
      if (count < max_units_) open_.File(pack);
    }
  }

  // Appends the packs in the order of their openers, and the ordinals of each
  // in ascending order: a pass over the units in order of arrival does both.
  void Release(uint64_t first, Packs* packs) {
    openers_.assign(pack_of_.size() / 64 + 1, 0);
    for (const PackState& pack : packs_) {
      openers_[pack.opener / 64] |= uint64_t{1} << (pack.opener % 64);
    }
    cursors_.resize(packs_.size());
    uint64_t cursor = packs->ordinals.size();
    for (size_t word = 0; word < openers_.size(); ++word) {
      for (uint64_t bits = openers_[word]; bits != 0; bits &= bits - 1) {
        const uint32_t pack = pack_of_[word * 64 + absl::countr_zero(bits)];
        cursors_[pack] = cursor;
        cursor += packs_[pack].units;
        packs->offsets.push_back(cursor);
      }
    }
    packs->ordinals.resize(cursor);
    uint64_t* const ordinals = packs->ordinals.data();
    for (size_t i = 0; i < pack_of_.size(); ++i) {
      ordinals[cursors_[pack_of_[i]]++] = first + i;
    }
  }

  const uint32_t capacity_;
  const uint32_t max_units_;
  FootprintSort sort_;
  OpenPacks<kPrefer> open_;
  std::vector<PackState> packs_;   // in order of opening
  std::vector<uint32_t> pack_of_;  // by unit
  std::vector<uint64_t> openers_;  // bitmap over units
  std::vector<uint64_t> cursors_;  // by pack: where its next ordinal goes
};

}  // namespace

std::unique_ptr<Rule> NewDecreasingRule(const PackSpec& spec, Prefer prefer) {
  if (prefer == Prefer::kMostRoom) {
    return std::make_unique<WindowedRule<DecreasingPacker<Prefer::kMostRoom>>>(
        spec);
  }
  return std::make_unique<WindowedRule<DecreasingPacker<Prefer::kLeastRoom>>>(
      spec);
}

}  // namespace packhouse
