#include "packhouse/cost.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packing/shuffle.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Optional;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> MustCosts(const std::vector<uint32_t>& lengths,
                              const Packs& packs, const CostModel& model) {
  absl::StatusOr<std::vector<double>> costs = PackCosts(lengths, packs, model);
  EXPECT_THAT(costs, IsOk());
  return *costs;
}

Steps MustBalance(const std::vector<double>& costs, uint64_t ranks,
                  uint64_t look_ahead, uint64_t seed = 0) {
  absl::StatusOr<Steps> steps = Balance(costs, ranks, look_ahead, seed);
  EXPECT_THAT(steps, IsOk());
  return *steps;
}

std::vector<double> RandomCosts(size_t count, uint32_t distinct,
                                std::mt19937* random) {
  std::vector<double> costs;
  for (const uint32_t value : RandomLengths(count, distinct, random)) {
    costs.push_back(static_cast<double>(value) * value);
  }
  return costs;
}

// --- Costs -------------------------------------------------------------------

TEST(PackCosts, IsTheSumOverTheSequences) {
  const Packs packs = MakePacks({{0, 2}, {1}, {3, 4, 5}});
  EXPECT_THAT(MustCosts({10, 20, 30, 1, 2, 3}, packs, {2, 0.5}),
              ElementsAre(2 * 30 + 0.5 * (100 + 400), 2 * 30 + 0.5 * 900,
                          2 * 6 + 0.5 * 14));
  EXPECT_THAT(MustCosts({}, Packs(), {1, 1}), IsEmpty());
}

// A square of 2^16 does not fit 32 bits, nor the sum of squares 64.
TEST(PackCosts, WrapsNowhere) {
  EXPECT_THAT(MustCosts({65536, 65536}, MakePacks({{0, 1}}), {0, 1}),
              ElementsAre(8589934592.0));
  const uint32_t most = 4294967295;
  const Packs packs = MakePacks({{0, 1, 2}});
  EXPECT_THAT(MustCosts({most, most, most}, packs, {0, 1}),
              ElementsAre(3 * std::pow(2.0, 64) - 3 * std::pow(2.0, 33) + 3));
  EXPECT_THAT(MustCosts({most, most, most}, packs, {1, 0}),
              ElementsAre(12884901885.0));
}

// Added as doubles, in any order, one of the small squares would be lost.
TEST(PackCosts, AddsExactlyWhateverTheOrder) {
  std::vector<uint32_t> lengths(1025, 1);
  lengths[0] = 94906267;  // the square is just over 2^53
  std::vector<uint64_t> all(lengths.size());
  std::iota(all.begin(), all.end(), 0);
  const double expected = 9007199515875289.0 + 1024;
  EXPECT_THAT(MustCosts(lengths, MakePacks({all}), {0, 1}),
              ElementsAre(expected));
  std::reverse(lengths.begin(), lengths.end());
  EXPECT_THAT(MustCosts(lengths, MakePacks({all}), {0, 1}),
              ElementsAre(expected));
}

TEST(PackCosts, RefusesABadModelOrColumn) {
  const Packs packs = MakePacks({{0, 1}});
  for (double bad : {-1.0, kInfinity, kNaN, 1e101}) {
    EXPECT_THAT(PackCosts({1, 2}, packs, {bad, 1}),
                StatusIs(kInvalid, HasSubstr("per_token is")));
    EXPECT_THAT(PackCosts({1, 2}, packs, {1, bad}),
                StatusIs(kInvalid, HasSubstr("per_token_squared is")));
  }
  EXPECT_THAT(ValidateCostModel({-1, -2}),
              StatusIs(kInvalid, AllOf(HasSubstr("per_token is -1"),
                                       HasSubstr("per_token_squared is -2"))));
  EXPECT_THAT(
      PackCosts({1, 2, 3}, packs, {1, 1}),
      StatusIs(kInvalid, AllOf(HasSubstr("hold 2"), HasSubstr("are 3"))));
  // The largest model keeps costs finite.
  EXPECT_TRUE(
      std::isfinite(MustCosts({4294967295, 4294967295}, packs,
                              {kMaxCostCoefficient, kMaxCostCoefficient})[0]));
}

// --- Steps -------------------------------------------------------------------

// What header and definition say, in the simplest way.
std::vector<std::vector<uint64_t>> NaiveBalance(
    const std::vector<double>& costs, size_t ranks, size_t look_ahead,
    uint64_t seed) {
  std::vector<std::vector<uint64_t>> steps;
  const size_t block = look_ahead - look_ahead % ranks;
  for (size_t number = 0; number * block < costs.size(); ++number) {
    std::vector<uint64_t> left;
    for (size_t i = number * block;
         i < std::min(costs.size(), (number + 1) * block); ++i) {
      left.push_back(i);
    }
    std::vector<std::vector<uint64_t>> cut;
    while (!left.empty()) {
      std::vector<uint64_t> step;
      while (step.size() < ranks && !left.empty()) {
        size_t dearest = 0;
        for (size_t j = 1; j < left.size(); ++j) {
          if (costs[left[j]] > costs[left[dearest]]) dearest = j;
        }
        step.push_back(left[dearest]);
        left.erase(left.begin() + dearest);
      }
      std::sort(step.begin(), step.end());
      cut.push_back(step);
    }
    const bool short_step = cut.back().size() < ranks;
    for (size_t s :
         ShuffledOrder(seed, number, cut.size() - (short_step ? 1 : 0))) {
      steps.push_back(cut[s]);
    }
    if (short_step) steps.push_back(cut.back());
  }
  return steps;
}

std::vector<std::vector<uint64_t>> AsLists(const Steps& steps) {
  std::vector<std::vector<uint64_t>> lists;
  for (size_t s = 0; s < steps.size(); ++s) {
    lists.emplace_back(steps[s].begin(), steps[s].end());
  }
  return lists;
}

double SumOfDearest(const std::vector<double>& costs, const Steps& steps) {
  double sum = 0;
  for (size_t s = 0; s < steps.size(); ++s) {
    double most = 0;
    for (uint64_t pack : steps[s]) most = std::max(most, costs[pack]);
    sum += most;
  }
  return sum;
}

TEST(Balance, PutsEqualCostsIntoOneStep) {
  const Steps steps = MustBalance({9, 1, 5, 5, 1, 9, 5}, 2, 100);
  EXPECT_THAT(AsLists(steps), testing::UnorderedElementsAre(
                                  ElementsAre(0, 5), ElementsAre(2, 3),
                                  ElementsAre(1, 6), ElementsAre(4)));
  EXPECT_THAT(AsLists(steps).back(), ElementsAre(4));
  EXPECT_THAT(StepImbalance({9, 1, 5, 5, 1, 9, 5}, steps),
              Optional(20.0 / 18.0));
}

TEST(Balance, TakesPacksInOrderWhereTheBlockIsAStep) {
  for (uint64_t look_ahead : {4, 5, 7}) {
    EXPECT_THAT(MustBalance({3, 1, 2, 9, 8, 7, 0}, 4, look_ahead).packs,
                ElementsAre(0, 1, 2, 3, 4, 5, 6));
  }
}

TEST(Balance, SmallLists) {
  EXPECT_EQ(MustBalance({}, 4, 8).size(), 0u);
  EXPECT_EQ(StepImbalance({}, MustBalance({}, 4, 8)), absl::nullopt);
  // Fewer packs than ranks: one short step.
  const Steps steps = MustBalance({1, 3}, 4, 8);
  EXPECT_THAT(AsLists(steps), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(StepImbalance({1, 3}, steps), Optional(1.5));
  // One rank: nothing to balance, whatever the order.
  EXPECT_THAT(StepImbalance({1, 3, 2}, MustBalance({1, 3, 2}, 1, 3)),
              Optional(1.0));
  // Nothing costs anything.
  EXPECT_EQ(StepImbalance({0, 0}, MustBalance({0, 0}, 2, 2)), absl::nullopt);
  // More ranks, and a wider look, than there can be packs.
  const uint64_t most = ~uint64_t{0};
  EXPECT_THAT(AsLists(MustBalance({1, 3}, most, most)),
              ElementsAre(ElementsAre(0, 1)));
}

TEST(Balance, RefusesWhatItCannotMean) {
  EXPECT_THAT(Balance({1, 2}, 0, 8, 0),
              StatusIs(kInvalid, HasSubstr("ranks is 0")));
  EXPECT_THAT(Balance({1, 2}, 4, 3, 0),
              StatusIs(kInvalid, HasSubstr("look_ahead is 3")));
  for (double bad : {-1.0, kInfinity, kNaN}) {
    EXPECT_THAT(Balance({1, bad}, 2, 2, 0),
                StatusIs(kInvalid, HasSubstr("pack 1 is")));
  }
}

class RandomLists : public testing::TestWithParam<int> {};

TEST_P(RandomLists, EqualTheDefinitionAndKeepTheBound) {
  std::mt19937 random(GetParam());
  const auto uniform = [&](uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random);
  };
  for (int round = 0; round < 50; ++round) {
    const uint64_t ranks = uniform(1, 12);
    const uint64_t look_ahead = ranks * uniform(1, 10) + uniform(0, ranks - 1);
    const uint64_t seed = uniform(0, 3);
    const std::vector<double> costs =
        RandomCosts(uniform(0, 300), uniform(1, 60), &random);
    const Steps steps = MustBalance(costs, ranks, look_ahead, seed);
    ASSERT_EQ(AsLists(steps), NaiveBalance(costs, ranks, look_ahead, seed));
    // Every pack once, near its own place.
    std::vector<uint64_t> sorted = steps.packs;
    std::sort(sorted.begin(), sorted.end());
    ASSERT_EQ(sorted.size(), costs.size());
    for (uint64_t i = 0; i < sorted.size(); ++i) {
      ASSERT_EQ(sorted[i], i);
      const uint64_t pack = steps.packs[i];
      ASSERT_LE(std::max(pack, i) - std::min(pack, i), look_ahead - ranks);
    }
    // Never dearer than the packs in order; nor is the imbalance worse, but
    // for the weight of a short step.
    const Steps in_order = MustBalance(costs, ranks, ranks);
    ASSERT_LE(SumOfDearest(costs, steps), SumOfDearest(costs, in_order));
    if (!costs.empty() && costs.size() % ranks == 0) {
      ASSERT_LE(*StepImbalance(costs, steps),
                *StepImbalance(costs, in_order) * (1 + 1e-12));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLists, testing::Range(0, 20));

// Against every way to cut 7 packs into steps of 3, 3 and 1.
TEST(Balance, NoOtherStepsOfABlockHaveALowerSumOfTheDearest) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    const std::vector<double> costs = RandomCosts(7, 9, &random);
    Steps steps = MustBalance(costs, 3, 9);
    const double balanced = SumOfDearest(costs, steps);
    double least = kInfinity;
    std::sort(steps.packs.begin(), steps.packs.end());
    do {
      least = std::min(least, SumOfDearest(costs, steps));
    } while (std::next_permutation(steps.packs.begin(), steps.packs.end()));
    ASSERT_EQ(balanced, least) << testing::PrintToString(costs);
  }
}

// The bound could not be tighter.
TEST(Balance, ReachesTheBound) {
  uint64_t farthest = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    const Steps steps = MustBalance({9, 9, 5, 5, 1, 1}, 2, 6, seed);
    for (uint64_t i = 0; i < steps.packs.size(); ++i) {
      farthest = std::max(
          farthest, std::max(steps.packs[i], i) - std::min(steps.packs[i], i));
    }
  }
  EXPECT_EQ(farthest, 4u);
}

// Cost follows neither the step's place in its block nor the rank, also where
// many packs cost the same; and the seed changes the order of the steps only.
TEST(Balance, OrderIsNeutral) {
  std::mt19937 random(5);
  constexpr size_t kRanks = 8;
  constexpr size_t kBlock = 16;  // steps
  constexpr size_t kBlocks = 500;
  std::vector<double> costs;
  for (size_t i = 0; i < kRanks * kBlock * kBlocks; ++i) {
    const double drawn = std::exponential_distribution<double>(1)(random);
    costs.push_back(i % 4 == 0 ? 10.0 : drawn);
  }
  const double mean = std::accumulate(costs.begin(), costs.end(), 0.0) /
                      static_cast<double>(costs.size());
  const Steps steps = MustBalance(costs, kRanks, kRanks * kBlock);
  std::vector<double> by_place(kBlock), by_rank(kRanks);
  for (size_t i = 0; i < steps.packs.size(); ++i) {
    by_place[i / kRanks % kBlock] += costs[steps.packs[i]];
    by_rank[i % kRanks] += costs[steps.packs[i]];
  }
  for (double sum : by_place) {
    EXPECT_NEAR(sum / (kBlocks * kRanks), mean, 0.2 * mean);
  }
  for (double sum : by_rank) {
    EXPECT_NEAR(sum / (kBlocks * kBlock), mean, 0.2 * mean);
  }
  const Steps other = MustBalance(costs, kRanks, kRanks * kBlock, 1);
  EXPECT_NE(other.packs, steps.packs);
  EXPECT_NEAR(*StepImbalance(costs, other), *StepImbalance(costs, steps), 1e-9);
}

// The same on every machine and compiler.
TEST(Balance, KnownOrder) {
  const std::vector<double> costs = {5, 3, 8, 1, 9, 2, 7, 4, 6, 0};
  EXPECT_THAT(MustBalance(costs, 2, 10, 7).packs,
              ElementsAre(2, 4, 3, 9, 6, 8, 0, 7, 1, 5));
}

}  // namespace
}  // namespace packhouse
