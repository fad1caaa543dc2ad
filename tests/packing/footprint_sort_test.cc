#include "packing/footprint_sort.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace packhouse {
namespace {

void ExpectSorted(const std::vector<uint32_t>& footprints) {
  std::vector<SortedUnit> expected;
  for (uint32_t i = 0; i < footprints.size(); ++i) {
    expected.push_back({footprints[i], i});
  }
  std::stable_sort(expected.begin(), expected.end(),
                   [](const SortedUnit& a, const SortedUnit& b) {
                     return a.footprint > b.footprint;
                   });
  FootprintSort sort;
  const absl::Span<const SortedUnit> sorted = sort.Descending(footprints);
  ASSERT_EQ(sorted.size(), expected.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    ASSERT_EQ(sorted[i].footprint, expected[i].footprint) << i;
    ASSERT_EQ(sorted[i].index, expected[i].index) << i;
  }
}

TEST(FootprintSort, Edges) {
  ExpectSorted({});
  ExpectSorted({7});
  ExpectSorted({7, 7, 7});
  ExpectSorted({1, 2147483647, 1, 2147483647, 2});
  ExpectSorted({4294967295u, 0, 4294967295u});
}

// Every width of the digits, with and without bits that all units share.
TEST(FootprintSort, RandomWidths) {
  std::mt19937 rng(1);
  for (uint32_t bits = 1; bits <= 31; ++bits) {
    for (uint32_t shared : {0u, 1u << bits}) {
      std::vector<uint32_t> footprints(700);
      for (uint32_t& f : footprints) f = (rng() & ((1u << bits) - 1)) | shared;
      ExpectSorted(footprints);
    }
  }
}

}  // namespace
}  // namespace packhouse
