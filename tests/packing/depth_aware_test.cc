#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "packing/depth_aware_rule.h"
#include "packing/rule.h"
#include "packing/shuffle.h"
#include "packing/state.h"
#include "tests/packing/naive_packer.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

__extension__ typedef __int128 Int;

PackSpec Spec(int64_t capacity, int64_t max_sequences, int64_t window = 1024,
              int64_t alignment = 1) {
  PackSpec spec = MakeSpec(capacity, window);
  spec.algorithm = "depth_aware";
  spec.max_sequences_per_pack = max_sequences;
  spec.sequence_alignment = alignment;
  return spec;
}

Packs MustPlan(const Lengths& lengths, const PackSpec& spec) {
  absl::StatusOr<Packs> packs = Plan(lengths, spec);
  EXPECT_THAT(packs, IsOk());
  return *packs;
}

PackSpec Lpfhp(PackSpec spec) {
  spec.algorithm = "lpfhp";
  spec.seed.reset();
  return spec;
}

// --- The definition, slow and obvious ----------------------------------------

// The `level` packs of one window, by scans over what is left.
Packs NaiveLevel(const Lengths& lengths, const PackSpec& spec) {
  struct Unit {
    Int size;
    uint64_t index;
  };
  const Int capacity = spec.capacity_tokens / spec.sequence_alignment;
  const Int k = spec.max_sequences_per_pack;
  std::vector<Unit> left;
  for (uint64_t i = 0; i < lengths.size(); ++i) {
    left.push_back(
        {(lengths[i] + spec.sequence_alignment - 1) / spec.sequence_alignment,
         i});
  }
  // Where the largest (or the smallest) unit of at most `room` is, the first
  // to arrive of equal ones; left.end() where there is none.
  const auto find = [&](Int room, bool largest) {
    auto found = left.end();
    for (auto it = left.begin(); it != left.end(); ++it) {
      if (it->size > room) continue;
      if (found == left.end() ||
          (largest ? it->size > found->size : it->size < found->size)) {
        found = it;
      }
    }
    return found;
  };
  std::map<uint64_t, std::vector<uint64_t>> by_opener;
  while (!left.empty()) {
    auto choice = find(capacity, true);
    std::vector<uint64_t>& pack = by_opener[choice->index];
    Int room = capacity;
    while (choice != left.end()) {
      room -= choice->size;
      pack.push_back(choice->index);
      left.erase(choice);
      const Int slots = k - Int(pack.size());
      if (slots == 0 || left.empty()) break;
      const Int n = left.size();
      Int sum = 0;
      for (const Unit& unit : left) sum += unit.size;
      const Int share = room / slots;
      if ((n - 1) * capacity >= (sum - share) * k) {
        choice = find(share, true);
        if (choice == left.end()) choice = find(room, false);
      } else {
        choice = find(room, true);
      }
    }
    std::sort(pack.begin(), pack.end());
  }
  std::vector<std::vector<uint64_t>> packs;
  for (auto& [opener, pack] : by_opener) packs.push_back(std::move(pack));
  return MakePacks(packs);
}

Packs NaiveWindow(const Lengths& lengths, const PackSpec& spec) {
  const Packs lpfhp = NaivePlan(lengths, Lpfhp(spec));
  bool limit_met = false;
  for (size_t i = 0; i < lpfhp.size(); ++i) {
    limit_met |= int64_t(lpfhp[i].size()) == spec.max_sequences_per_pack;
  }
  if (!limit_met) return lpfhp;
  const Packs level = NaiveLevel(lengths, spec);
  return level.size() < lpfhp.size() ? level : lpfhp;
}

Packs NaiveDepthAware(const Lengths& lengths, const PackSpec& spec,
                      const std::set<size_t>& flushes = {}) {
  Packs packs;
  uint64_t windows = 0;
  size_t begin = 0;
  for (size_t end = 1; end <= lengths.size(); ++end) {
    if (end < lengths.size() && flushes.count(end) == 0 &&
        int64_t(end - begin) < spec.window_sequences) {
      continue;
    }
    Packs window = NaiveWindow(
        Lengths(lengths.begin() + begin, lengths.begin() + end), spec);
    if (spec.seed.has_value()) {
      ShufflePacks(*spec.seed, windows, 0, &window);
    }
    for (uint64_t& ordinal : window.ordinals) ordinal += begin;
    packs.Append(window);
    begin = end;
    ++windows;
  }
  return packs;
}

// The fewest packs, by trying all: each sequence into every pack or a new one.
size_t Optimum(const Lengths& lengths, int64_t capacity, int64_t k) {
  size_t best = lengths.size();
  std::vector<std::pair<int64_t, int64_t>> packs;  // room, slots
  const std::function<void(size_t)> place = [&](size_t i) {
    if (packs.size() >= best) return;
    if (i == lengths.size()) {
      best = packs.size();
      return;
    }
    for (size_t p = 0; p < packs.size(); ++p) {
      if (packs[p].first < lengths[i] || packs[p].second == 0) continue;
      packs[p].first -= lengths[i];
      --packs[p].second;
      place(i + 1);
      packs[p].first += lengths[i];
      ++packs[p].second;
    }
    packs.push_back({capacity - lengths[i], k - 1});
    place(i + 1);
    packs.pop_back();
  };
  place(0);
  return best;
}

// --- Known values ------------------------------------------------------------

// The example of docs/depth.md.
TEST(DepthAware, KeepsShortSequencesForLongOnes) {
  const Lengths lengths = {5, 2, 5, 1, 5, 2, 5, 1};
  EXPECT_EQ(MustPlan(lengths, Lpfhp(Spec(10, 3))).size(), 4u);
  EXPECT_EQ(MustPlan(lengths, Spec(10, 3)),
            MakePacks({{0, 1, 5}, {2, 3, 7}, {4, 6}}));
}

// Where both give as many packs they are those of lpfhp.
TEST(DepthAware, IsLpfhpWhereTheLimitIsNotMetOrNothingIsWon) {
  const Lengths lengths = {5, 3, 3, 3, 1};
  for (int64_t k : {0, 1, 3, 4, 5}) {
    EXPECT_EQ(MustPlan(lengths, Spec(7, k)),
              MustPlan(lengths, Lpfhp(Spec(7, k))))
        << k;
  }
}

// With 5 a pack at most lpfhp fills none by count: the limit does not show, and
// `level`, which would need a pack less, is not used.
TEST(DepthAware, IsLpfhpWhereItsPacksAreBelowTheLimit) {
  const Lengths lengths = {16, 15, 15, 14, 13, 12, 11, 8, 7, 3, 2, 2, 2};
  EXPECT_EQ(NaiveLevel(lengths, Spec(30, 5)).size(), 4u);
  EXPECT_EQ(MustPlan(lengths, Spec(30, 5)),
            MustPlan(lengths, Lpfhp(Spec(30, 5))));
  EXPECT_EQ(MustPlan(lengths, Spec(30, 5)).size(), 5u);
}

TEST(DepthAware, LargestCapacityWindowAndLimit) {
  const uint32_t most = 2147483647;
  const Lengths lengths = {most, 1, most - 1, most / 2, most / 2, 1, 1};
  for (int64_t k : {int64_t{2}, int64_t{3}, kMaxSequencesPerPack}) {
    const PackSpec spec = Spec(kMaxCapacityTokens, k, kMaxWindowSequences);
    EXPECT_EQ(MustPlan(lengths, spec), NaiveDepthAware(lengths, spec)) << k;
  }
}

// --- Against the definition --------------------------------------------------

// Every sequence of up to 6 lengths, ties and order included.
TEST(DepthAware, AllSmallInputs) {
  for (uint32_t capacity = 1; capacity <= 7; ++capacity) {
    for (int64_t k : {0, 1, 2, 3, 4}) {
      const PackSpec spec = Spec(capacity, k);
      Lengths lengths;
      const std::function<void()> visit = [&] {
        ASSERT_EQ(MustPlan(lengths, spec), NaiveDepthAware(lengths, spec))
            << "capacity " << capacity << " limit " << k << " lengths "
            << testing::PrintToString(lengths);
        if (lengths.size() == (capacity <= 5 ? 6 : 5)) return;
        for (uint32_t length = 1; length <= capacity; ++length) {
          lengths.push_back(length);
          visit();
          if (testing::Test::HasFatalFailure()) return;
          lengths.pop_back();
        }
      };
      visit();
    }
  }
}

// Every multiset of 9 lengths: no worse than lpfhp, no better than the optimum,
// and better than lpfhp somewhere.
TEST(DepthAware, IsBetweenTheOptimumAndLpfhp) {
  constexpr uint32_t kCapacity = 8;
  size_t better = 0;
  for (int64_t k : {2, 3, 4}) {
    Lengths lengths;
    const std::function<void(uint32_t)> visit = [&](uint32_t longest) {
      if (lengths.size() == 9) {
        const size_t packs = MustPlan(lengths, Spec(kCapacity, k)).size();
        const size_t lpfhp =
            MustPlan(lengths, Lpfhp(Spec(kCapacity, k))).size();
        ASSERT_LE(packs, lpfhp) << testing::PrintToString(lengths);
        if (packs == lpfhp && lpfhp * k == lengths.size()) return;
        ASSERT_GE(packs, Optimum(lengths, kCapacity, k))
            << testing::PrintToString(lengths);
        better += packs < lpfhp;
        return;
      }
      for (uint32_t length = 1; length <= longest; ++length) {
        lengths.push_back(length);
        visit(length);
        if (testing::Test::HasFatalFailure()) return;
        lengths.pop_back();
      }
    };
    visit(6);
  }
  EXPECT_GT(better, 100u);
}

// A list whose limit, capacity and mix are drawn; sometimes a few distinct
// lengths only.
struct Case {
  PackSpec spec;
  Lengths lengths;
};

Case RandomCase(std::mt19937* random) {
  const auto uniform = [&](uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(*random);
  };
  constexpr int64_t kCapacities[] = {3,    17,   64,    65,     512,
                                     2048, 8193, 65536, 131072, 2147483647};
  const int64_t capacity = kCapacities[uniform(0, 9)];
  const int64_t alignment =
      uniform(0, 2) > 0 ? 1 : uniform(1, std::min<int64_t>(capacity, 100));
  Case c;
  c.spec = Spec(capacity, uniform(0, 12), uniform(1, 300), alignment);
  if (uniform(0, 3) == 0) c.spec.seed = uniform(0, 5);
  const uint64_t longest = capacity - capacity % alignment;
  // From the scale at which the limit does not matter to that at which it
  // alone matters.
  const uint64_t scale =
      std::max<uint64_t>(1, longest / uniform(1, uniform(1, 40)));
  const uint64_t grain = uniform(0, 1) ? 1 : std::max<uint64_t>(1, scale / 5);
  c.lengths.resize(uniform(0, 500));
  for (uint32_t& length : c.lengths) {
    const uint64_t drawn =
        uniform(0, 5) == 0 ? uniform(1, longest) : uniform(1, scale);
    length = static_cast<uint32_t>(
        std::min(longest, (drawn + grain - 1) / grain * grain));
  }
  return c;
}

class Random : public testing::TestWithParam<int> {};

// However the input is cut; with flushes, and saved and restored on the way.
TEST_P(Random, EqualsTheDefinition) {
  std::mt19937 random(GetParam());
  const auto uniform = [&](uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(random);
  };
  for (int round = 0; round < 60; ++round) {
    const auto [spec, lengths] = RandomCase(&random);
    Lengths footprints = lengths;
    for (uint32_t& f : footprints) {
      f = (f + spec.sequence_alignment - 1) / spec.sequence_alignment;
    }
    std::unique_ptr<Rule> rule = NewRule(spec);
    Packs packs;
    std::set<size_t> flushes;
    for (size_t at = 0; at < lengths.size();) {
      const size_t n = std::min(lengths.size() - at, uniform(0, 300));
      rule->Add(absl::MakeConstSpan(footprints).subspan(at, n), &packs);
      at += n;
      ASSERT_EQ(packs.ordinals.size() + rule->pending(), at);
      if (uniform(0, 3) == 0) {
        flushes.insert(at);
        rule->Flush(&packs);
      }
      if (uniform(0, 2) == 0) {
        StateWriter writer;
        rule->Save(&writer);
        const std::string state = std::move(writer).Take();
        rule = NewRule(spec);
        StateReader reader(state);
        rule->Restore(at, &reader);
        ASSERT_TRUE(reader.AtEnd());
      }
    }
    rule->Flush(&packs);
    ASSERT_EQ(packs, NaiveDepthAware(lengths, spec, flushes))
        << "seed " << GetParam() << " round " << round;
    ASSERT_THAT(Verify(lengths, spec, packs), IsOk());
    if (flushes.empty()) {
      ASSERT_EQ(packs, MustPlan(lengths, spec));
    }
    // Never more packs than lpfhp, window by window.
    ASSERT_LE(packs.size(), NaivePlan(lengths, Lpfhp(spec), flushes).size());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, testing::Range(0, 20));

// --- Density -----------------------------------------------------------------

// Mixes of a few long and many short sequences whose number and sum call for
// as many packs: lpfhp needs a fifth more, depth_aware stays near the bound.
TEST(DepthAware, StaysNearTheBoundWhereBothLimitsBind) {
  std::mt19937 random(7);
  Lengths lengths;
  for (int i = 0; i < 4096; ++i) {
    const uint32_t longest = i % 4 == 0 ? 1500 : 250;
    lengths.push_back(
        std::uniform_int_distribution<uint32_t>(longest / 10, longest)(random));
  }
  const uint64_t tokens =
      std::accumulate(lengths.begin(), lengths.end(), uint64_t{0});
  const size_t bound =
      std::max<size_t>((tokens + 2047) / 2048, (lengths.size() + 6) / 7);
  EXPECT_GT(MustPlan(lengths, Lpfhp(Spec(2048, 7, 4096))).size(),
            bound * 120 / 100);
  EXPECT_LE(MustPlan(lengths, Spec(2048, 7, 4096)).size(), bound * 101 / 100);
}

}  // namespace
}  // namespace packhouse
