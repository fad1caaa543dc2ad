// Column generation: pricing against trying everything, bounds that are true,
// packs that are legal. tests/packing/offline_test.cc has the plans.

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"
#include "packing/lp/column_generation.h"
#include "packing/lp/pricing.h"
#include "tests/packing/optimum.h"

namespace packhouse {
namespace {

// The most valuable pack whose longest length has index `longest`.
int64_t BestWith(const std::vector<uint32_t>& footprints, uint32_t capacity,
                 uint32_t max_units, const std::vector<int32_t>& prices,
                 const std::vector<uint64_t>& counts, size_t longest) {
  int64_t best = -1;
  const std::function<void(size_t, int64_t, int64_t, int64_t)> add =
      [&](size_t i, int64_t room, int64_t free, int64_t value) {
        if (i == 0) {
          best = std::max(best, value);
          return;
        }
        const int64_t least = i - 1 == longest ? 1 : 0;
        for (int64_t n = least; n <= int64_t(counts[i - 1]); ++n) {
          if (n * footprints[i - 1] > room || n > free) break;
          add(i - 1, room - n * footprints[i - 1], free - n,
              value + n * prices[i - 1]);
        }
      };
  add(longest + 1, capacity, max_units, 0);
  return best;
}

TEST(Pricing, EqualsTryingEverything) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const uint32_t capacity = 1 + random() % 25;
    const uint32_t max_units = random() % 2 ? 1000 : 1 + random() % 5;
    std::vector<uint32_t> footprints;
    std::vector<int32_t> prices;
    std::vector<uint64_t> counts;
    for (uint32_t f = 1; f <= capacity; ++f) {
      if (random() % 4) continue;
      footprints.push_back(f);
      prices.push_back(random() % 20);
      counts.push_back(random() % 8);
    }
    Pricing pricing(footprints, capacity, max_units);
    const int32_t best = pricing.Solve(prices, counts);
    int64_t expected = 0;
    std::map<uint32_t, int64_t> with;  // by the index of the longest
    for (size_t i = 0; i < footprints.size(); ++i) {
      if (counts[i] == 0 || prices[i] == 0) continue;
      with[i] = BestWith(footprints, capacity, max_units, prices, counts, i);
      expected = std::max(expected, with[i]);
    }
    ASSERT_EQ(best, expected) << "round " << round;
    const std::vector<Pattern> patterns = pricing.Best(1, 1000);
    ASSERT_EQ(patterns.size(), with.size());
    int64_t last = best;
    for (const Pattern& pattern : patterns) {
      uint64_t used = 0;
      uint64_t units = 0;
      int64_t value = 0;
      for (size_t k = 0; k < pattern.size(); ++k) {
        const IndexCount& c = pattern[k];
        ASSERT_TRUE(k == 0 || pattern[k - 1].index > c.index);
        ASSERT_LE(c.count, counts[c.index]);
        used += uint64_t{c.count} * footprints[c.index];
        units += c.count;
        value += int64_t{c.count} * prices[c.index];
      }
      ASSERT_LE(used, capacity);
      ASSERT_LE(units, max_units);
      ASSERT_EQ(value, with[pattern.front().index]) << "round " << round;
      ASSERT_LE(value, last);
      last = value;
    }
  }
}

FootprintGroups OnePerPack(absl::Span<const FootprintCount> rest) {
  FootprintGroups groups;
  for (const FootprintCount& c : rest) {
    groups.push_back({{{c.footprint, 1}}, c.count});
  }
  return groups;
}

class ColumnsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!LpAvailable()) GTEST_SKIP() << "this build has no solver";
  }
};

TEST_F(ColumnsTest, BoundsAndPacksAreTrue) {
  std::mt19937 random(7);
  int tight = 0;
  for (int round = 0; round < 400; ++round) {
    const uint32_t capacity = 1 + random() % 30;
    const uint32_t max_units = random() % 2 ? 1000 : 1 + random() % 4;
    std::map<uint32_t, uint64_t> histogram;
    std::vector<uint32_t> lengths(1 + random() % 10);
    for (uint32_t& length : lengths) {
      length = 1 + random() % capacity;
      ++histogram[length];
    }
    std::vector<FootprintCount> counts;
    for (const auto& [f, n] : histogram) counts.push_back({f, n});
    const LpPlan plan = PackByColumns(counts, capacity, max_units, 1,
                                      OnePerPack, [] { return 0.0; });
    const uint64_t optimum = Optimum(lengths, capacity, max_units);
    EXPECT_LE(plan.lower_bound_packs, optimum) << "round " << round;
    EXPECT_FALSE(plan.is_cut_short);
    EXPECT_TRUE(IsPlanOf(plan.groups, counts, capacity, max_units))
        << "round " << round;
    EXPECT_GE(CountPacks(plan.groups), optimum);
    tight += plan.lower_bound_packs == optimum;
  }
  // The gap of the linear program is seldom a whole pack.
  EXPECT_GE(tight, 395);
}

// Hundreds of lengths go through several levels; whenever time ends, what comes
// back is legal, and what was proven is below what is possible.
TEST_F(ColumnsTest, WheneverTimeEnds) {
  std::mt19937 random(9);
  std::vector<FootprintCount> counts;
  for (uint32_t f = 20; f < 600; ++f) {
    if (random() % 2) counts.push_back({f, 1 + random() % 5});
  }
  for (const uint32_t max_units : {1000, 3}) {
    const LpPlan whole = PackByColumns(counts, 1000, max_units, 1, OnePerPack,
                                       [] { return 0.0; });
    ASSERT_FALSE(whole.is_cut_short);
    ASSERT_TRUE(IsPlanOf(whole.groups, counts, 1000, max_units));
    EXPECT_GE(whole.lower_bound_packs, 1u);
    EXPECT_LE(CountPacks(whole.groups), whole.lower_bound_packs + 2);
    for (int calls = 0; calls < 100; calls = calls * 2 + 1) {
      int left = calls;
      const LpPlan plan =
          PackByColumns(counts, 1000, max_units, 1, OnePerPack, [&] {
            left -= left > 0;
            return left > 0 ? 1 - double(left) / (calls + 1) : 1.0;
          });
      if (!plan.groups.empty()) {
        ASSERT_TRUE(IsPlanOf(plan.groups, counts, 1000, max_units)) << calls;
        EXPECT_GE(CountPacks(plan.groups), whole.lower_bound_packs);
      }
      EXPECT_LE(plan.lower_bound_packs, CountPacks(whole.groups));
    }
  }
}

TEST_F(ColumnsTest, HugeCounts) {
  const std::vector<FootprintCount> counts = {
      {3, 1000000000000}, {4, 1000000000000}, {5, 1000000000000}};
  const LpPlan plan =
      PackByColumns(counts, 12, 1000, 1, OnePerPack, [] { return 0.0; });
  // Prices are integers of about 30 bits, so that much is lost.
  EXPECT_LE(plan.lower_bound_packs, 1000000000000u);
  EXPECT_GE(plan.lower_bound_packs, 1000000000000u - 10000u);
  EXPECT_TRUE(IsPlanOf(plan.groups, counts, 12, 1000));
  EXPECT_EQ(CountPacks(plan.groups), 1000000000000u);
}

TEST_F(ColumnsTest, NothingToPack) {
  const LpPlan plan =
      PackByColumns({}, 12, 1000, 0, OnePerPack, [] { return 0.0; });
  EXPECT_TRUE(plan.groups.empty());
  EXPECT_EQ(plan.lower_bound_packs, 0u);
}

}  // namespace
}  // namespace packhouse
