#include "packing/pack_search.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packing/pending_pool.h"
#include "packing/price.h"
#include "tests/packs.h"

namespace packhouse {
namespace {

// --- The pool
// -----------------------------------------------------------------

class Pool : public testing::TestWithParam<int> {};

// Random units come, go and hide; a plain list says what should be there.
TEST_P(Pool, AgreesWithAList) {
  constexpr uint32_t kCapacities[] = {1,    2,    100,   8191,      8192,
                                      8193, 9000, 70000, 2147483647};
  std::mt19937 random(GetParam());
  for (const uint32_t capacity : kCapacities) {
    // Many equal ones, and many in one bucket.
    const std::vector<uint32_t> lengths = RandomLengths(
        1 + random() % 60, std::max(1u, capacity >> random() % 20), &random);
    PendingPool pool(capacity);
    std::vector<std::pair<uint64_t, uint32_t>> list;  // number, footprint
    const auto hide = [&](uint32_t footprint) {
      pool.Hide(pool.LongestWithin(footprint));
    };
    uint64_t number = 0;
    for (int step = 0; step < 400; ++step) {
      if (random() % 2 == 0 || list.empty()) {
        list.emplace_back(number, lengths[random() % lengths.size()]);
        pool.Add(number, list.back().second);
        number += 1 + random() % 3;
      } else {
        const uint32_t footprint = list[random() % list.size()].second;
        const uint32_t kind = pool.LongestWithin(footprint);
        ASSERT_EQ(pool.Footprint(kind), footprint);
        const auto oldest = std::find_if(
            list.begin(), list.end(),
            [&](const auto& unit) { return unit.second == footprint; });
        ASSERT_EQ(pool.Take(kind), oldest->first);
        list.erase(oldest);
      }
      ASSERT_EQ(pool.size(), list.size());
      ASSERT_EQ(pool.empty(), list.empty());
      uint64_t total = 0;
      uint32_t unit = list.empty() ? PendingPool::kNone : pool.oldest();
      for (const auto& [its_number, footprint] : list) {
        ASSERT_EQ(pool.Number(unit), its_number);
        ASSERT_EQ(pool.Footprint(pool.KindOf(unit)), footprint);
        unit = pool.Newer(unit);
        total += footprint;
      }
      ASSERT_EQ(unit, PendingPool::kNone);
      ASSERT_EQ(pool.total(), total);

      // Without the hidden ones.
      std::map<uint32_t, uint32_t> visible;
      for (const auto& entry : list) ++visible[entry.second];
      std::vector<uint32_t> hidden;
      for (int i = 0; i < 3 && !visible.empty(); ++i) {
        auto at = visible.begin();
        std::advance(at, random() % visible.size());
        hidden.push_back(pool.LongestWithin(at->first));
        hide(at->first);
        if (--at->second == 0) visible.erase(at);
      }
      for (int i = 0; i < 5; ++i) {
        const uint32_t room = 1 + random() % capacity;
        const auto above = visible.upper_bound(room);
        const uint32_t found = pool.LongestWithin(room);
        if (above == visible.begin()) {
          ASSERT_EQ(found, PendingPool::kNone);
        } else {
          ASSERT_EQ(pool.Footprint(found), std::prev(above)->first);
          ASSERT_EQ(pool.Visible(found), std::prev(above)->second);
        }
      }
      for (uint32_t kind : hidden) pool.Show(kind);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Pool, testing::Range(0, 10));

TEST(PendingPool, MarksAKindOnce) {
  PendingPool pool(10);
  pool.Add(0, 3);
  pool.Add(1, 3);
  const uint32_t kind = pool.KindOf(pool.oldest());
  EXPECT_TRUE(pool.Mark(kind, 1));
  EXPECT_FALSE(pool.Mark(kind, 1));
  EXPECT_TRUE(pool.Mark(kind, 2));
}

// --- The search
// ---------------------------------------------------------------

struct Found {
  uint64_t loss;
  std::vector<uint32_t> footprints;  // the anchor's first
};

// The oldest unit is the anchor.
Found Search(const std::vector<uint32_t>& pending, const Units& units,
             const Price& price, PackSearch::Order order,
             const PackSearch::Limits& limits) {
  PendingPool pool(units.capacity);
  for (size_t i = 0; i < pending.size(); ++i) pool.Add(i, pending[i]);
  PackSearch search(units, &pool);
  Found found;
  found.loss = search.Run(pool.KindOf(pool.oldest()), price, order, limits);
  for (uint32_t kind : search.pack()) {
    found.footprints.push_back(pool.Footprint(kind));
  }
  // All that was hidden can be found again.
  std::map<uint32_t, uint32_t> counts;
  for (uint32_t footprint : pending) ++counts[footprint];
  for (const auto& [footprint, count] : counts) {
    EXPECT_EQ(pool.Visible(pool.LongestWithin(footprint)), count);
  }
  return found;
}

uint64_t LeastLoss(const std::vector<uint32_t>& pending, const Units& units,
                   const Price& price) {
  uint64_t most = 0;
  for (uint32_t set = 1; set < 1u << pending.size(); set += 2) {
    uint64_t total = 0, worth = 0, count = 0;
    for (size_t i = 0; i < pending.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      total += pending[i];
      worth += price.OfUnit(pending[i]);
      ++count;
    }
    if (total <= units.capacity && count <= units.max_sequences) {
      most = std::max(most, worth);
    }
  }
  return price.OfPack() - most;
}

class SearchOfAll : public testing::TestWithParam<int> {};

TEST_P(SearchOfAll, FindsTheBestPack) {
  std::mt19937 random(GetParam());
  const PackSearch::Limits all = {1000000, 1000, 3, 0};
  for (int round = 0; round < 200; ++round) {
    const uint32_t capacity = 5 + random() % 100;
    PackSpec spec = MakeSpec(capacity, 1);
    spec.max_sequences_per_pack = random() % 2 == 0 ? 0 : 1 + random() % 4;
    const Units units(spec);
    uint32_t lambda = Price::kVolume;
    if (random() % 3 > 0) {
      lambda = capacity / 4 + 1 + random() % (capacity / 2);
      if (capacity % lambda == 0) lambda = Price::kVolume;
    }
    const uint64_t share =
        spec.max_sequences_per_pack == 0 ? 0 : random() % 3 * Price::kOne / 9;
    const Price price(units, lambda, share);
    const std::vector<uint32_t> pending =
        RandomLengths(1 + random() % 9, capacity, &random);
    const uint64_t total =
        std::accumulate(pending.begin(), pending.end(), uint64_t{0});
    const uint64_t least = LeastLoss(pending, units, price);
    for (const auto order :
         {PackSearch::Order::kOldestFirst, PackSearch::Order::kLongestFirst}) {
      const Found found = Search(pending, units, price, order, all);
      // Oldest first begins roughly where many short units fit.
      if (order == PackSearch::Order::kLongestFirst || share > 0 ||
          3 * total >= uint64_t{capacity} * pending.size()) {
        ASSERT_EQ(found.loss, least)
            << "round " << round << " " << testing::PrintToString(pending);
      }
      // What it says is what it found, and it is a legal pack.
      uint64_t worth = 0, filled = 0;
      std::map<uint32_t, int> left;
      for (uint32_t footprint : pending) ++left[footprint];
      for (uint32_t footprint : found.footprints) {
        worth += price.OfUnit(footprint);
        filled += footprint;
        ASSERT_GE(--left[footprint], 0);
      }
      ASSERT_EQ(found.footprints.front(), pending.front());
      ASSERT_EQ(found.loss, price.OfPack() - worth);
      ASSERT_LE(filled, capacity);
      ASSERT_LE(found.footprints.size(), units.max_sequences);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SearchOfAll, testing::Range(0, 20));

TEST(PackSearch, PricesPiecesBeforeVolume) {
  // Pieces of 40 and a rest of 20: two units of 40 with one of 20, or five of
  // 20? Both fill the pack; the second spends the fillers of five packs.
  const Units units(MakeSpec(100, 1));
  const Price price(units, 40, 0);
  const PackSearch::Limits limits = {100, 100, 3, 0};
  const Found found = Search({20, 20, 20, 20, 20, 40, 40}, units, price,
                             PackSearch::Order::kLongestFirst, limits);
  EXPECT_THAT(found.footprints, testing::UnorderedElementsAre(20, 40, 40));
  EXPECT_LT(found.loss, Price::kOne / 1000000);
}

TEST(PackSearch, StopsAtItsLimits) {
  // A thousand candidates of which none fits exactly; with a few nodes it must
  // still return a pack.
  std::vector<uint32_t> pending;
  for (uint32_t i = 0; i < 1000; ++i) pending.push_back(300000 + 7 * i);
  const Units units(MakeSpec(1000003, 1));
  const Price price(units, Price::kVolume, 0);
  for (const auto order :
       {PackSearch::Order::kOldestFirst, PackSearch::Order::kLongestFirst}) {
    EXPECT_EQ(
        Search(pending, units, price, order, {1, 1, 3, 0}).footprints.size(),
        3u);
  }
}

}  // namespace
}  // namespace packhouse
