// Which pack each unit of a window went into, and from that the packs in the
// order in which they are released.

#ifndef PACKHOUSE_PACKING_PLACEMENT_H_
#define PACKHOUSE_PACKING_PLACEMENT_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/numeric/bits.h"
#include "packhouse/packs.h"

namespace packhouse {

struct Placement {
  struct Pack {
    uint32_t units;
    uint32_t opener;  // index of its first, longest unit
  };

  std::vector<Pack> packs;        // in order of opening
  std::vector<uint32_t> pack_of;  // by unit

  // No packs yet for so many units.
  void Reset(size_t units) {
    packs.clear();
    pack_of.resize(units);
  }
};

class Releaser {
 public:
  // Appends the packs of a window, whose first unit has the number `first`, in
  // the order of their openers, and the ordinals of each in ascending order: a
  // pass over the units in order of arrival does both. Requires that every unit
  // is in a pack.
  void Release(const Placement& placement, uint64_t first, Packs* packs) {
    const std::vector<uint32_t>& pack_of = placement.pack_of;
    openers_.assign(pack_of.size() / 64 + 1, 0);
    for (const Placement::Pack& pack : placement.packs) {
      openers_[pack.opener / 64] |= uint64_t{1} << (pack.opener % 64);
    }
    cursors_.resize(placement.packs.size());
    uint64_t cursor = packs->ordinals.size();
    for (size_t word = 0; word < openers_.size(); ++word) {
      for (uint64_t bits = openers_[word]; bits != 0; bits &= bits - 1) {
        const uint32_t pack = pack_of[word * 64 + absl::countr_zero(bits)];
        cursors_[pack] = cursor;
        cursor += placement.packs[pack].units;
        packs->offsets.push_back(cursor);
      }
    }
    packs->ordinals.resize(cursor);
    uint64_t* const ordinals = packs->ordinals.data();
    for (size_t i = 0; i < pack_of.size(); ++i) {
      ordinals[cursors_[pack_of[i]]++] = first + i;
    }
  }

 private:
  std::vector<uint64_t> openers_;  // bitmap over units
  std::vector<uint64_t> cursors_;  // by pack: where its next ordinal goes
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_PLACEMENT_H_
