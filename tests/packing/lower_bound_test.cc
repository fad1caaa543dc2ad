#include "packing/lower_bound.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "packhouse/plan_check.h"
#include "tests/packing/optimum.h"

namespace packhouse {
namespace {

PackSpec Spec(int64_t capacity, int64_t max_sequences = 0,
              int64_t alignment = 1) {
  PackSpec spec;
  spec.capacity_tokens = capacity;
  spec.max_sequences_per_pack = max_sequences;
  spec.sequence_alignment = alignment;
  return spec;
}

// L2 as the book defines it, every alpha up to half the capacity; and every
// Burdet-Johnson function, as fractions.
uint64_t NaiveBound(const std::vector<uint32_t>& lengths, int64_t capacity,
                    int64_t max_sequences) {
  int64_t best = 0;
  for (int64_t alpha = 0; alpha <= capacity / 2; ++alpha) {
    int64_t n1 = 0, n2 = 0, large = 0, small = 0;
    for (int64_t length : lengths) {
      if (length > capacity - alpha) {
        ++n1;
      } else if (2 * length > capacity) {
        ++n2;
        large += length;
      } else if (length >= alpha) {
        small += length;
      }
    }
    const int64_t beyond = small - (n2 * capacity - large);
    const int64_t further = beyond > 0 ? (beyond + capacity - 1) / capacity : 0;
    best = std::max(best, n1 + n2 + further);
  }
  for (int64_t lambda = 1; lambda <= capacity; ++lambda) {
    const int64_t rest = capacity - capacity / lambda * lambda;
    const int64_t most = capacity / lambda * (lambda - rest);
    int64_t price = 0;
    for (int64_t length : lengths) {
      const int64_t whole = length / lambda;
      price += whole * (lambda - rest) +
               std::max<int64_t>(0, length - whole * lambda - rest);
    }
    best = std::max(best, (price + most - 1) / most);
  }
  if (max_sequences != 0) {
    const int64_t n = int64_t(lengths.size());
    best = std::max(best, (n + max_sequences - 1) / max_sequences);
  }
  return uint64_t(best);
}

TEST(LowerBound, EqualsTheDefinitionAndNeverExceedsTheOptimum) {
  std::mt19937 rng(5);
  for (int round = 0; round < 3000; ++round) {
    const uint32_t capacity = 1 + rng() % 30;
    std::vector<uint32_t> lengths(rng() % 9);
    for (uint32_t& length : lengths) length = 1 + rng() % capacity;
    const int64_t max_sequences = rng() % 2 ? 0 : 1 + rng() % 4;
    const absl::StatusOr<uint64_t> bound =
        LowerBoundPacks(lengths, Spec(capacity, max_sequences));
    ASSERT_TRUE(bound.ok());
    ASSERT_EQ(*bound, NaiveBound(lengths, capacity, max_sequences))
        << testing::PrintToString(lengths) << " capacity " << capacity;
    ASSERT_LE(*bound,
              Optimum(lengths, capacity,
                      max_sequences == 0 ? lengths.size() : max_sequences))
        << testing::PrintToString(lengths) << " capacity " << capacity;
  }
}

TEST(LowerBound, SeesWhatVolumeDoesNot) {
  // Three just above half: the volume bound says 2.
  EXPECT_EQ(*LowerBoundPacks({6, 6, 6}, Spec(11)), 3u);
  // 7s leave no room for a 4: volume says 3, alpha = 4 says 2 + 1.5.
  EXPECT_EQ(*LowerBoundPacks({7, 7, 4, 4, 4, 4}, Spec(10)), 4u);
}

// Where there are too many lambdas to try them all, those that are tried still
// bound from below, and find what makes the difference.
TEST(LowerBound, LargeCapacities) {
  std::mt19937 rng(9);
  for (int round = 0; round < 200; ++round) {
    const uint32_t capacity = (1u << 30) + rng() % (1u << 30);
    std::vector<uint32_t> lengths(rng() % 9);
    for (uint32_t& length : lengths) length = 1 + rng() % capacity;
    ASSERT_LE(*LowerBoundPacks(lengths, Spec(capacity)),
              Optimum(lengths, capacity, lengths.size()))
        << testing::PrintToString(lengths) << " capacity " << capacity;
  }
}

// No three of them fit together, so 30 need 15 packs; volume and L2 say 11.
TEST(LowerBound, PricesSeeWhatL2DoesNot) {
  std::vector<uint32_t> lengths(20, 34);
  lengths.insert(lengths.end(), 10, 40);
  EXPECT_EQ(*LowerBoundPacks(lengths, Spec(100)), 15u);
}

// Where the alignment does not divide the capacity, what is behind the last
// multiple is of no use: two footprints of 8 fit a capacity of 20, not 2.5.
TEST(LowerBound, CountsInMultiplesOfTheAlignment) {
  EXPECT_EQ(*LowerBoundPacks({8, 7, 1, 8, 3}, Spec(20, 0, 8)), 3u);
}

TEST(LowerBound, EmptyAndLimits) {
  EXPECT_EQ(*LowerBoundPacks({}, Spec(8)), 0u);
  EXPECT_EQ(*LowerBoundPacks({1, 1, 1, 1, 1}, Spec(8, 2)), 3u);
  EXPECT_FALSE(LowerBoundPacks({9}, Spec(8)).ok());
  EXPECT_FALSE(LowerBoundPacks({1}, Spec(0)).ok());
}

// Sums far beyond 64 bits of tokens do not wrap.
TEST(LowerBound, HugeCounts) {
  const FootprintCount counts[] = {{1, 1}, {2147483647, uint64_t{1} << 62}};
  EXPECT_EQ(LowerBound(counts, 2147483647, ~0u), (uint64_t{1} << 62) + 1);
}

}  // namespace
}  // namespace packhouse
