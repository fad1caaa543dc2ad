#include "packing/bitmap_tree.h"

#include <random>
#include <set>

#include "gtest/gtest.h"

namespace packhouse {
namespace {

// Against std::set, at universes around the powers of 64 where the number of
// levels changes.
TEST(BitmapTree, EqualsASet) {
  for (uint32_t universe :
       {1u, 2u, 63u, 64u, 65u, 4095u, 4096u, 4097u, 262144u, 262145u}) {
    std::mt19937 rng(universe);
    std::uniform_int_distribution<uint32_t> value(0, universe - 1);
    BitmapTree tree;
    tree.Reset(universe);
    std::set<uint32_t> set;
    for (int step = 0; step < 4000; ++step) {
      const uint32_t v = value(rng);
      if (rng() % 3 == 0) {
        tree.Insert(v);
        set.insert(v);
      } else {
        tree.Erase(v);
        set.erase(v);
      }
      const uint32_t from = value(rng);
      const auto next = set.lower_bound(from);
      ASSERT_EQ(tree.Next(from), next == set.end() ? BitmapTree::kNone : *next)
          << universe << " step " << step;
      ASSERT_EQ(tree.Last(), set.empty() ? BitmapTree::kNone : *set.rbegin());
    }
  }
}

TEST(BitmapTree, ResetEmptiesIt) {
  BitmapTree tree;
  tree.Reset(5000);
  tree.Insert(4999);
  tree.Insert(0);
  tree.Reset(70);
  EXPECT_EQ(tree.Next(0), BitmapTree::kNone);
  tree.Insert(69);
  EXPECT_EQ(tree.Next(69), 69u);
  EXPECT_EQ(tree.Next(3), 69u);
}

TEST(BitmapTree, FindsAcrossWholeLevels) {
  BitmapTree tree;
  tree.Reset(64 * 64 * 64);
  tree.Insert(64 * 64 * 64 - 1);
  EXPECT_EQ(tree.Next(0), 64u * 64 * 64 - 1);
  tree.Erase(64 * 64 * 64 - 1);
  tree.Insert(0);
  EXPECT_EQ(tree.Next(1), BitmapTree::kNone);
  EXPECT_EQ(tree.Last(), 0u);
}

}  // namespace
}  // namespace packhouse
