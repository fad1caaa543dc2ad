// A set of small integers with predecessor and successor search.
//
// A bit for each number of the universe, a bit in the level above for each
// word that is not zero, and so on up to one word: a tree of fan-out 64. Every
// operation touches at most a word a level, three levels for a quarter of a
// million. The two lowest levels nearly always suffice and are inlined.

#ifndef PACKHOUSE_PACKING_BITMAP_TREE_H_
#define PACKHOUSE_PACKING_BITMAP_TREE_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/numeric/bits.h"

namespace packhouse {

class BitmapTree {
 public:
  BitmapTree() = default;
  BitmapTree(const BitmapTree&) = delete;
  BitmapTree& operator=(const BitmapTree&) = delete;

  static constexpr uint32_t kNone = ~uint32_t{0};

  // Empties the set and sets the universe to 0 .. universe - 1; universe > 0.
  // Memory is kept.
  void Reset(uint32_t universe);

  bool Contains(uint32_t value) const {
    return (words_[value / 64] & Bit(value)) != 0;
  }

  void Insert(uint32_t value) {
    const uint32_t index = value / 64;
    words_[index] |= Bit(value);
    uint64_t& above = above_[index / 64];
    if (above == 0) OccupyAbove(index / 64);
    above |= Bit(index);
    last_ = std::max(last_, index);
  }

  // Requires that the value is a member.
  void Erase(uint32_t value) {
    const uint32_t index = value / 64;
    words_[index] &= ~Bit(value);
    if (words_[index] != 0) return;
    uint64_t& above = above_[index / 64];
    above &= ~Bit(index);
    if (above == 0) EmptyAbove(index / 64);
  }

  // The largest member, or kNone.
  uint32_t Last() {
    if (words_[last_] == 0) {
      const uint64_t above = above_[last_ / 64] & (Bit(last_) - 1);
      if (above == 0) return LastByTree();
      last_ = last_ / 64 * 64 + Highest(above);
    }
    return last_ * 64 + Highest(words_[last_]);
  }

  // The smallest member that is at least `value` (which is in the universe),
  // or kNone.
  uint32_t Next(uint32_t value) const {
    uint32_t index = value / 64;
    const uint64_t word = words_[index] & (~uint64_t{0} << (value % 64));
    if (word != 0) return index * 64 + Lowest(word);
    const uint64_t above = above_[index / 64] & (~uint64_t{1} << (index % 64));
    if (above == 0) return NextByTree(index / 64 + 1);
    index = index / 64 * 64 + Lowest(above);
    return index * 64 + Lowest(words_[index]);
  }

 private:
  static constexpr size_t kMaxLevels = 6;  // 64^6 > 2^32

  static uint64_t Bit(uint32_t value) { return uint64_t{1} << (value % 64); }
  static uint32_t Lowest(uint64_t word) {
    return static_cast<uint32_t>(absl::countr_zero(word));
  }
  static uint32_t Highest(uint64_t word) {
    return 63 - static_cast<uint32_t>(absl::countl_zero(word));
  }

  // A word of level 1 is about to become occupied, or has become empty.
  void OccupyAbove(uint32_t index);
  void EmptyAbove(uint32_t index);

  uint32_t LastByTree();

  // The smallest member below the words of level 1 from `index` on.
  uint32_t NextByTree(uint32_t index) const;

  // All levels, the lowest first; two at least. Level i begins at start_[i].
  std::vector<uint64_t> tree_;
  std::array<size_t, kMaxLevels + 1> start_ = {};
  size_t levels_ = 0;
  uint64_t* words_ = nullptr;  // level 0
  uint64_t* above_ = nullptr;  // level 1
  uint32_t last_ = 0;          // no word of level 0 behind it is occupied
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_BITMAP_TREE_H_
