// The open packs of a window, ordered by room.
//
// Packs are filed in classes: the class of a pack is the rank of the largest
// footprint of the window that it still takes (footprint_ranks.h). So "which
// packs take this footprint" is a question about classes alone, there are
// never more classes than units whatever the capacity, and a pack that takes
// nothing any more has class 0 and is forgotten at once. A bitmap tree says
// which classes have packs; the packs of a class form a heap, linked through
// the packs themselves, in the order in which the rule prefers them.
//
// Costs: O(1) to file a pack and amortised O(log packs in the class) to take
// one; most classes hold one or two.

#ifndef PACKHOUSE_PACKING_OPEN_PACKS_H_
#define PACKHOUSE_PACKING_OPEN_PACKS_H_

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "packing/bitmap_tree.h"
#include "packing/footprint_ranks.h"

namespace packhouse {

// Which of the open packs that have enough room a rule takes first.
enum class Prefer { kMostRoom, kLeastRoom };

template <Prefer kPrefer>
class OpenPacks {
 public:
  struct Pack {
    uint32_t number;
    uint32_t room;
  };
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Forgets all packs. `ranks` must stay alive and unchanged while packs are
  // filed and taken. Packs will have numbers below max_packs.
  void Reset(const FootprintRanks& ranks, size_t max_packs) {
    ranks_ = &ranks;
    occupied_.Reset(ranks.size() + 1);
    heads_.resize(ranks.size() + 1);
    nodes_.resize(max_packs);
  }

  // Files a pack that is not filed, because it is new or was taken. Packs are
  // numbered in the order of their opening. One that has no room for any
  // footprint of the window is forgotten.
  void File(Pack pack) {
    const uint32_t rank = ranks_->Fitting(pack.room);
    if (rank == 0) return;
    const uint64_t key = Key(pack);
    nodes_[pack.number].child = kNone;
    if (occupied_.Contains(rank)) {
      heads_[rank] = Meld(heads_[rank], key);
    } else {
      heads_[rank] = key;
      occupied_.Insert(rank);
    }
  }

  // Takes the preferred pack among those that have room for the footprint of
  // this rank; its number is kNone if there is none. Of packs with equal room
  // it is the one opened first.
  Pack Take(uint32_t rank) {
    const uint32_t found =
        kPrefer == Prefer::kMostRoom ? occupied_.Last() : occupied_.Next(rank);
    if (found == BitmapTree::kNone || found < rank) return {kNone, 0};
    const Pack pack = FromKey(heads_[found]);
    const uint32_t child = nodes_[pack.number].child;
    if (child == kNone) {
      occupied_.Erase(found);
    } else {
      heads_[found] = MeldAll(child);
    }
    return pack;
  }

 private:
  // A node of a pairing heap (Fredman et al., 1986): its children form a list.
  struct Node {
    uint64_t key;  // where it is not the root
    uint32_t child;
    uint32_t sibling;
  };

  // A pack as a number: smaller ones are taken first.
  static uint64_t Key(Pack pack) {
    const uint32_t room = kPrefer == Prefer::kMostRoom ? ~pack.room : pack.room;
    return uint64_t{room} << 32 | pack.number;
  }
  static Pack FromKey(uint64_t key) {
    const uint32_t room = static_cast<uint32_t>(key >> 32);
    return {static_cast<uint32_t>(key),
            kPrefer == Prefer::kMostRoom ? ~room : room};
  }

  // The root of two heaps, given by the keys of their roots.
  uint64_t Meld(uint64_t a, uint64_t b) {
    if (b < a) std::swap(a, b);
    Node& parent = nodes_[static_cast<uint32_t>(a)];
    Node& child = nodes_[static_cast<uint32_t>(b)];
    child.key = b;
    child.sibling = parent.child;
    parent.child = static_cast<uint32_t>(b);
    return a;
  }

  // One heap of a list of heaps: melds neighbours pair by pair, then the pairs
  // into one, the last pair first. Returns the key of its root.
  uint64_t MeldAll(uint32_t first) {
    uint32_t pairs = kNone;
    while (first != kNone) {
      uint64_t pair = nodes_[first].key;
      const uint32_t second = nodes_[first].sibling;
      if (second == kNone) {
        first = kNone;
      } else {
        first = nodes_[second].sibling;
        pair = Meld(pair, nodes_[second].key);
      }
      Node& root = nodes_[static_cast<uint32_t>(pair)];
      root.key = pair;
      root.sibling = pairs;
      pairs = static_cast<uint32_t>(pair);
    }
    uint64_t root = nodes_[pairs].key;
    for (uint32_t rest = nodes_[pairs].sibling; rest != kNone;) {
      const uint32_t next = nodes_[rest].sibling;
      root = Meld(root, nodes_[rest].key);
      rest = next;
    }
    return root;
  }

  const FootprintRanks* ranks_ = nullptr;
  BitmapTree occupied_;          // ranks that have packs
  std::vector<uint64_t> heads_;  // by rank, where occupied: key of the root
  std::vector<Node> nodes_;      // by pack
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OPEN_PACKS_H_
