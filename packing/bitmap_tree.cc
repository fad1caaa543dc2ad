#include "packing/bitmap_tree.h"

namespace packhouse {

void BitmapTree::Reset(uint32_t universe) {
  levels_ = 0;
  last_ = 0;
  for (uint32_t bits = universe; levels_ < 2 || bits > 1; ++levels_) {
    bits = (bits - 1) / 64 + 1;
    start_[levels_ + 1] = start_[levels_] + bits;
  }
  tree_.assign(start_[levels_], 0);
  words_ = tree_.data();
  above_ = words_ + start_[1];
}

void BitmapTree::OccupyAbove(uint32_t index) {
  for (size_t level = 2; level < levels_; ++level, index /= 64) {
    uint64_t& word = tree_[start_[level] + index / 64];
    const bool was_empty = word == 0;
    word |= Bit(index);
    if (!was_empty) return;
  }
}

void BitmapTree::EmptyAbove(uint32_t index) {
  for (size_t level = 2; level < levels_; ++level, index /= 64) {
    uint64_t& word = tree_[start_[level] + index / 64];
    word &= ~Bit(index);
    if (word != 0) return;
  }
}

uint32_t BitmapTree::LastByTree() {
  if (tree_[start_[levels_ - 1]] == 0) return kNone;
  uint32_t value = 0;
  for (size_t level = levels_; level-- > 0;) {
    value = value * 64 + Highest(tree_[start_[level] + value]);
  }
  last_ = value / 64;
  return value;
}

uint32_t BitmapTree::NextByTree(uint32_t index) const {
  // Climb until there is something to the right, then down its lowest bits.
  for (size_t level = 2; level < levels_; ++level, index = index / 64 + 1) {
    if (index / 64 >= start_[level + 1] - start_[level]) return kNone;
    const uint64_t word =
        tree_[start_[level] + index / 64] & (~uint64_t{0} << (index % 64));
    if (word == 0) continue;
    uint32_t value = index / 64 * 64 + Lowest(word);
    while (level-- > 0) {
      value = value * 64 + Lowest(tree_[start_[level] + value]);
    }
    return value;
  }
  return kNone;
}

}  // namespace packhouse
