// The open packs of a window, ordered by room.
//
// Packs are filed in classes that ascend with the room, about as many as there
// are units whatever the capacity. A bitmap tree says which classes have packs;
// the packs of a class form a heap, linked through the packs themselves, in the
// order in which the rule prefers them.
//
// Where the pack with the most room is wanted, any classes will do: equal
// slices of the capacity (RoomSlices). Where the one with the least room that
// takes a footprint is wanted, a class must not have packs that take it beside
// packs that do not (RoomRanks).
//
// Costs: O(1) to file a pack and amortised O(log packs in the class) to take
// one; most classes hold one or two.

#ifndef PACKHOUSE_PACKING_OPEN_PACKS_H_
#define PACKHOUSE_PACKING_OPEN_PACKS_H_

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "packing/bitmap_tree.h"
#include "packing/footprint_ranks.h"
#include "packing/footprint_sort.h"
#include "packing/rule.h"

namespace packhouse {

// Slices of the capacity, as wide as the least power of two that makes no more
// of them than there are units.
class RoomSlices {
 public:
  void Reset(absl::Span<const SortedUnit> units, uint32_t capacity) {
    shift_ = 0;
    while (capacity >> shift_ > units.size()) ++shift_;
    size_ = (capacity >> shift_) + 1;
  }
  uint32_t size() const { return size_; }
  uint32_t Of(uint32_t room) const { return room >> shift_; }

 private:
  uint32_t shift_ = 0;
  uint32_t size_ = 0;
};

// A class for each room; where there are many more rooms than units, for each
// number of footprints of the window that fit the room.
class RoomRanks {
 public:
  void Reset(absl::Span<const SortedUnit> units, uint32_t capacity) {
    by_room_ = capacity <= kMaxRoomsPerUnit * units.size();
    if (!by_room_) ranks_.Reset(units);
    size_ = (by_room_ ? capacity : ranks_.size()) + 1;
  }
  uint32_t size() const { return size_; }
  uint32_t Of(uint32_t room) const {
    return by_room_ ? room : ranks_.Fitting(room);
  }

 private:
  // Looking up a rank takes about as long as reaching for classes that lie
  // this much further apart.
  static constexpr uint64_t kMaxRoomsPerUnit = 4;

  bool by_room_ = false;
  uint32_t size_ = 0;
  FootprintRanks ranks_;
};

template <Prefer kPrefer>
class OpenPacks {
 public:
  struct Pack {
    uint32_t number;
    uint32_t room;
  };
  static constexpr uint32_t kNone = ~uint32_t{0};

  // Forgets all packs. `units` are those of the window, by descending
  // footprint, at least one; there will be no more packs than units.
  void Reset(absl::Span<const SortedUnit> units, uint32_t capacity) {
    shortest_ = units.back().footprint;
    classes_.Reset(units, capacity);
    occupied_.Reset(classes_.size());
    heads_.resize(classes_.size());
    nodes_.resize(units.size());
  }

  // Files a pack that is not filed, because it is new or was taken. Packs are
  // numbered in the order of their opening. One that has no room for any
  // footprint of the window is forgotten.
  void File(Pack pack) {
    if (pack.room < shortest_) return;
    const uint32_t c = classes_.Of(pack.room);
    const uint64_t key = Key(pack);
    nodes_[pack.number].child = kNone;
    if (occupied_.Contains(c)) {
      heads_[c] = Meld(heads_[c], key);
    } else {
      heads_[c] = key;
      occupied_.Insert(c);
    }
  }

  // Takes the preferred pack among those that have room for this footprint of
  // the window; its number is kNone if there is none. Of packs with equal room
  // it is the one opened first.
  Pack Take(uint32_t footprint) {
    const uint32_t c = kPrefer == Prefer::kMostRoom
                           ? occupied_.Last()
                           : occupied_.Next(classes_.Of(footprint));
    if (c == BitmapTree::kNone) return {kNone, 0};
    const Pack pack = FromKey(heads_[c]);
    if (pack.room < footprint) return {kNone, 0};
    const uint32_t child = nodes_[pack.number].child;
    if (child == kNone) {
      occupied_.Erase(c);
    } else {
      heads_[c] = MeldAll(child);
    }
    return pack;
  }

 private:
  using Classes =
      std::conditional_t<kPrefer == Prefer::kMostRoom, RoomSlices, RoomRanks>;

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

  uint32_t shortest_ = 0;
  Classes classes_;
  BitmapTree occupied_;          // classes that have packs
  std::vector<uint64_t> heads_;  // by class, where occupied: key of the root
  std::vector<Node> nodes_;      // by pack
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_OPEN_PACKS_H_
