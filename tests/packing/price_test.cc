#include "packing/price.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packing/price_choice.h"
#include "packing/slot_share.h"
#include "tests/packs.h"

namespace packhouse {
namespace {

Units MakeUnits(int64_t capacity, int64_t max_sequences = 0) {
  PackSpec spec = MakeSpec(capacity, 1);
  spec.max_sequences_per_pack = max_sequences;
  return Units(spec);
}

// Every lambda that a price of pieces may have.
std::vector<uint32_t> LambdasOf(uint32_t capacity) {
  std::vector<uint32_t> lambdas;
  for (uint32_t lambda = capacity / 4 + 1; lambda < capacity; ++lambda) {
    if (capacity % lambda != 0) lambdas.push_back(lambda);
  }
  return lambdas;
}

// Burdet and Johnson's function as a share of a whole pack.
double Pieces(uint32_t capacity, uint32_t lambda, uint32_t length) {
  const double rest = capacity % lambda;
  const double whole = std::floor(double(capacity) / lambda);
  const double q = std::floor(double(length) / lambda);
  const double r = length - q * lambda;
  return (q * (lambda - rest) + std::max(0.0, r - rest)) /
         (whole * (lambda - rest));
}

constexpr double kOne = Price::kOne;

TEST(Price, IsTheMixtureThatItSays) {
  for (uint32_t capacity = 3; capacity <= 60; ++capacity) {
    for (uint32_t lambda : LambdasOf(capacity)) {
      for (double share : {0.0, 0.02, 0.5, 1.0}) {
        const Units units = MakeUnits(capacity, 4);
        const Price price(units, lambda, static_cast<uint64_t>(share * kOne));
        for (uint32_t l = 0; l <= capacity; ++l) {
          const double expected =
              (1 - share) *
              (0.7 * Pieces(capacity, lambda, l) + 0.3 * double(l) / capacity);
          ASSERT_NEAR(double(price.OfRoom(l)) / kOne, expected, 1e-9)
              << capacity << " " << lambda << " " << l;
        }
        ASSERT_NEAR(double(price.OfSlot()) / kOne, share / 4, 1e-9);
        ASSERT_NEAR(double(price.OfPack()) / kOne, 1, 1e-9);
      }
    }
  }
}

// Two rooms in one are worth no less, hence no pack is worth more than OfPack.
void ExpectSuperadditive(const Price& price, uint32_t capacity) {
  for (uint32_t a = 0; a <= capacity; ++a) {
    for (uint32_t b = a; a + b <= capacity; ++b) {
      ASSERT_LE(price.OfRoom(a) + price.OfRoom(b), price.OfRoom(a + b))
          << "capacity " << capacity << " lambda " << price.lambda() << " " << a
          << " " << b;
    }
  }
  ASSERT_LE(price.OfPack(), Price::kOne);
}

TEST(Price, IsSuperadditive) {
  for (uint32_t capacity = 1; capacity <= 48; ++capacity) {
    const Units units = MakeUnits(capacity, 3);
    for (uint64_t share : {uint64_t{0}, Price::kOne / 3, Price::kOne}) {
      ExpectSuperadditive(Price(units, Price::kVolume, share), capacity);
      for (uint32_t lambda : LambdasOf(capacity)) {
        ExpectSuperadditive(Price(units, lambda, share), capacity);
      }
    }
  }
}

TEST(Price, HoldsAtTheLargestCapacity) {
  const uint32_t most = 2147483647;
  for (int64_t max_sequences : {int64_t{0}, int64_t{1}, int64_t{most} - 1}) {
    const Units units = MakeUnits(most, max_sequences);
    for (uint32_t lambda : {Price::kVolume, most / 4 + 1, most - 1}) {
      for (uint64_t share : {uint64_t{0}, Price::kOne}) {
        const Price price(units, lambda, share);
        EXPECT_LE(price.OfPack(), Price::kOne);
        EXPECT_GE(price.OfPack(), Price::kOne / 1000000 * 999999);
        EXPECT_LE(price.OfRoom(most / 2) + price.OfRoom(most / 2 + 1),
                  price.OfRoom(most));
      }
    }
  }
}

// --- Which lambda
// -------------------------------------------------------------

double Needed(const std::vector<uint32_t>& lengths, uint32_t capacity,
              uint32_t lambda) {
  double sum = 0;
  for (uint32_t l : lengths) {
    sum += lambda == Price::kVolume ? double(l) / capacity
                                    : Pieces(capacity, lambda, l);
  }
  return sum;
}

class Choice : public testing::TestWithParam<int> {};

// Up to a capacity of 512 the sums are exact.
TEST_P(Choice, IsTheLambdaWithTheHighestSum) {
  std::mt19937 random(GetParam());
  for (int round = 0; round < 50; ++round) {
    const uint32_t capacity = 2 + random() % 511;
    PriceChoice choice(MakeUnits(capacity));
    std::vector<uint32_t> lengths =
        RandomLengths(1 + random() % 40, capacity, &random);
    for (uint32_t l : lengths) choice.Add(l);
    for (uint32_t l : {1u, capacity}) {  // has come and gone
      choice.Add(l);
      choice.Remove(l);
    }
    double most = 0;
    for (uint32_t lambda : LambdasOf(capacity)) {
      if (!choice.Knows(lambda)) continue;
      most = std::max(most, Needed(lengths, capacity, lambda));
    }
    const std::vector<uint32_t> best = choice.Best(1);
    const uint32_t chosen = choice.Choose(Price::kVolume);
    ASSERT_TRUE(choice.Knows(chosen));
    const double volume = Needed(lengths, capacity, Price::kVolume);
    if (best.empty()) {  // no lambda at such a capacity
      ASSERT_EQ(chosen, Price::kVolume);
      continue;
    }
    ASSERT_NEAR(Needed(lengths, capacity, best[0]), most, 1e-9 * most);
    if (most > volume * 1.000001) {
      ASSERT_EQ(chosen, best[0]);
      // It stays, and is taken from one that sees less.
      ASSERT_EQ(choice.Choose(chosen), chosen);
      const uint32_t worst = choice.Best(1000).back();
      if (Needed(lengths, capacity, worst) * 1.002 < most) {
        ASSERT_EQ(choice.Choose(worst), chosen);
      }
    } else if (most < volume * 0.999999) {
      ASSERT_EQ(chosen, Price::kVolume);
      // One that once was chosen stays while it sees nearly as much.
      ASSERT_EQ(choice.Choose(best[0]),
                most < volume * 0.8 ? Price::kVolume : best[0]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Choice, testing::Range(0, 20));

TEST(PriceChoice, IsNearTheHighestSumAtLargeCapacities) {
  std::mt19937 random(1);
  for (uint32_t capacity : {513u, 4096u, 131072u, 2147483647u}) {
    PriceChoice choice(MakeUnits(capacity));
    const std::vector<uint32_t> lengths =
        RandomLengths(1000, capacity / 2, &random);
    for (uint32_t l : lengths) choice.Add(l);
    const std::vector<uint32_t> ranked = choice.Best(1000);
    double most = 0;
    for (uint32_t lambda : ranked) {
      EXPECT_GT(lambda, capacity / 4);
      EXPECT_NE(capacity % lambda, 0u);
      most = std::max(most, Needed(lengths, capacity, lambda));
    }
    EXPECT_GT(Needed(lengths, capacity, ranked[0]), most * 0.998);
  }
}

// The history counts as much as what is pending, but not for the end.
TEST(PriceChoice, AsksTheHistory) {
  PriceChoice choice(MakeUnits(100));
  choice.Add(10);
  EXPECT_EQ(choice.Choose(Price::kVolume), Price::kVolume);
  const std::vector<uint32_t> best = choice.Best(1000);
  for (int i = 0; i < 20; ++i) choice.Arrive(40);  // two to a pack
  const uint32_t chosen = choice.Choose(Price::kVolume);
  EXPECT_NEAR(Pieces(100, chosen, 40), 0.5, 1e-9);
  EXPECT_EQ(choice.Best(1000), best);

  // Short ones push the need below 0.8 of the volume: 10 packs by pieces.
  for (int i = 0; i < 40; ++i) choice.Arrive(10);  // 12.1 by volume
  EXPECT_EQ(choice.Choose(chosen), chosen);
  for (int i = 0; i < 10; ++i) choice.Arrive(10);  // 13.1
  EXPECT_EQ(choice.Choose(chosen), Price::kVolume);
}

// A stream that has changed is seen to have changed.
TEST(PriceChoice, TheHistoryFades) {
  PriceChoice choice(MakeUnits(100));
  for (int i = 0; i < 1000000; ++i) choice.Arrive(10);
  EXPECT_EQ(choice.Choose(Price::kVolume), Price::kVolume);
  for (int i = 0; i < 20000; ++i) choice.Arrive(40);
  EXPECT_NE(choice.Choose(Price::kVolume), Price::kVolume);
}

std::string SavedHistory(const PriceChoice& choice) {
  StateWriter writer;
  choice.Save(&writer);
  return std::move(writer).Take();
}

TEST(PriceChoice, TheHistoryComesBackWhereItCanBe) {
  const Units units = MakeUnits(100);
  PriceChoice choice(units);
  for (uint32_t l = 1; l <= 90; ++l) choice.Arrive(l);
  const std::string state = SavedHistory(choice);
  const auto restores = [&](const Units& to, uint64_t taken) {
    PriceChoice other(to);
    StateReader reader(state);
    other.Restore(taken, &reader);
    return reader.AtEnd() && SavedHistory(other) == state;
  };
  EXPECT_TRUE(restores(units, 90));
  EXPECT_FALSE(restores(units, 89));          // more than there were
  EXPECT_FALSE(restores(MakeUnits(99), 90));  // other cells
  EXPECT_FALSE(restores(MakeUnits(101), 90));
}

TEST(PriceChoice, KnowsNoLambdaAtTinyCapacities) {
  for (uint32_t capacity : {1u, 2u}) {
    PriceChoice choice(MakeUnits(capacity));
    choice.Add(1);
    EXPECT_EQ(choice.Choose(Price::kVolume), Price::kVolume);
    EXPECT_TRUE(choice.Best(5).empty());
    EXPECT_FALSE(choice.Knows(2));
    EXPECT_FALSE(choice.Knows(0));
  }
}

// --- The slots
// ------------------------------------------------------------------

TEST(SlotShare, FollowsTheMeans) {
  SlotShare share(MakeUnits(100, 4));
  EXPECT_TRUE(share.is_limited());
  for (int i = 0; i < 1000; ++i) share.Arrive(50);
  const uint64_t start = share.value();
  EXPECT_TRUE(share.Adjust(50 * 10, 10));  // the same mean
  EXPECT_EQ(share.value(), start);
  EXPECT_TRUE(share.Adjust(40 * 10, 10));  // short ones stay behind
  EXPECT_GT(share.value(), start);
  for (int i = 0; i < 10000; ++i) share.Adjust(1 * 10, 10);
  EXPECT_EQ(share.value(), Price::kOne);
  for (int i = 0; i < 10000; ++i) share.Adjust(99 * 10, 10);
  EXPECT_EQ(share.value(), 0u);
  EXPECT_FALSE(share.Adjust(0, 0));
}

TEST(SlotShare, IsNothingWithoutALimitThatCanBind) {
  for (int64_t max_sequences : {0, 100, 101}) {
    SlotShare share(MakeUnits(100, max_sequences));
    EXPECT_FALSE(share.is_limited());
    share.Arrive(5);
    EXPECT_FALSE(share.Adjust(5, 1));
    EXPECT_EQ(share.value(), 0u);
  }
}

}  // namespace
}  // namespace packhouse
