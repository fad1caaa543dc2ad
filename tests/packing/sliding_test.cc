#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/packer.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "packing/sliding_rule.h"
#include "packing/units.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using ::testing::HasSubstr;

using Lengths = std::vector<uint32_t>;

PackSpec Sliding(int64_t capacity, int64_t window,
                 Effort effort = Effort::kBalanced,
                 int64_t max_displacement = 0, int64_t max_sequences = 0) {
  PackSpec spec = MakeSpec(capacity, window);
  spec.algorithm = "sliding";
  spec.effort = effort;
  spec.max_displacement = max_displacement;
  spec.max_sequences_per_pack = max_sequences;
  return spec;
}

uint64_t MaxAge(const PackSpec& spec) {
  return spec.max_displacement > 0 ? spec.max_displacement
                                   : 4 * spec.window_sequences;
}

PackSpec RandomSpec(std::mt19937* random) {
  constexpr int64_t kCapacities[] = {1,  2,    3,    7,     12,     64,
                                     65, 1000, 4096, 10000, 131072, 2147483647};
  constexpr Effort kEfforts[] = {Effort::kFast, Effort::kBalanced,
                                 Effort::kThorough};
  const auto below = [&](uint64_t n) { return (*random)() % n; };
  const int64_t window = 1 + below(below(4) == 0 ? 200 : 20);
  return Sliding(kCapacities[below(12)], window, kEfforts[below(3)],
                 below(2) == 0 ? 0 : 1 + below(3 * window),
                 below(2) == 0 ? 0 : 1 + below(6));
}

// Of the capacity's scale or below it, sometimes of a few sizes only.
Lengths RandomUnits(const PackSpec& spec, size_t count, std::mt19937* random) {
  const uint32_t capacity = static_cast<uint32_t>(spec.capacity_tokens);
  const uint32_t scale = std::max(1u, capacity >> (*random)() % 5);
  const uint32_t grain = (*random)() % 2 ? 1 : std::max(1u, scale / 5);
  Lengths lengths = RandomLengths(count, scale, random);
  for (uint32_t& l : lengths) {
    l = static_cast<uint32_t>(std::min<uint64_t>(
        capacity, (uint64_t{l} + grain - 1) / grain * grain));
    if ((*random)() % 20 == 0) l = capacity;
  }
  return lengths;
}

// Gives the units one by one, flushes before those in `flushes` and at the end,
// and checks all that holds in between.
Packs CheckedPacks(const Lengths& lengths, const PackSpec& spec,
                   const std::set<size_t>& flushes = {}) {
  const std::unique_ptr<Rule> rule = NewSlidingRule(spec);
  Packs packs;
  std::set<uint64_t> pending;
  const auto check = [&](size_t first_pack, uint64_t arrived) {
    for (size_t i = first_pack; i < packs.size(); ++i) {
      for (uint64_t unit : packs[i]) {
        EXPECT_EQ(pending.erase(unit), 1u);
        EXPECT_LE(arrived - unit, MaxAge(spec) + 1) << "of unit " << unit;
      }
    }
    EXPECT_EQ(rule->pending(), pending.size());
    EXPECT_LE(pending.size(), spec.window_sequences);
  };
  for (uint64_t unit = 0; unit < lengths.size(); ++unit) {
    if (flushes.count(unit) > 0) {
      const size_t first_pack = packs.size();
      rule->Flush(&packs);
      check(first_pack, unit);
      EXPECT_TRUE(pending.empty());
      EXPECT_EQ(rule->oldest_pending(), unit);
    }
    const size_t first_pack = packs.size();
    rule->Add({lengths[unit]}, &packs);
    pending.insert(unit);
    // Those that left did so before this one arrived, or are this one.
    check(first_pack, unit);
    EXPECT_EQ(rule->oldest_pending(),
              pending.empty() ? unit + 1 : *pending.begin());
    if (!pending.empty()) {
      EXPECT_LE(unit - *pending.begin(), MaxAge(spec));
    }
  }
  rule->Flush(&packs);
  EXPECT_EQ(rule->pending(), 0u);
  EXPECT_THAT(Verify(lengths, spec, packs), IsOk());
  return packs;
}

// --- Properties
// -----------------------------------------------------------------

class Random : public testing::TestWithParam<int> {};

TEST_P(Random, PacksAreLegalAndDoNotDependOnTheCuts) {
  std::mt19937 random(GetParam());
  for (int round = 0; round < 30; ++round) {
    const PackSpec spec = RandomSpec(&random);
    const Lengths lengths = RandomUnits(spec, random() % 400, &random);
    std::set<size_t> flushes;
    for (size_t i = 0; random() % 2 == 0 && i < 5; ++i) {
      flushes.insert(random() % (lengths.size() + 1));
    }
    const Packs expected = CheckedPacks(lengths, spec, flushes);
    ASSERT_FALSE(HasFailure()) << "seed " << GetParam() << " round " << round;
    ASSERT_GE(expected.size(), *LowerBoundPacks(lengths, spec));

    const std::unique_ptr<Rule> rule = NewSlidingRule(spec);
    Packs packs;
    for (size_t at = 0; at < lengths.size();) {
      if (flushes.count(at) > 0) rule->Flush(&packs);
      size_t end = std::min(lengths.size(), at + 1 + random() % 100);
      const auto flush = flushes.upper_bound(at);
      if (flush != flushes.end()) end = std::min(end, *flush);
      rule->Add(absl::MakeConstSpan(lengths).subspan(at, end - at), &packs);
      at = end;
    }
    rule->Flush(&packs);
    ASSERT_EQ(packs, expected) << "seed " << GetParam() << " round " << round;
  }
}

// A list that the window holds is a whole plan.
TEST_P(Random, ShortListsTakeNoMorePacksThanBestFit) {
  std::mt19937 random(3000 + GetParam());
  for (int round = 0; round < 30; ++round) {
    PackSpec spec = RandomSpec(&random);
    const Lengths lengths =
        RandomUnits(spec, 1 + random() % spec.window_sequences, &random);
    spec.max_displacement = 0;
    const Packs packs = *Plan(lengths, spec);
    spec.algorithm = "lpfhp";
    spec.effort = Effort::kBalanced;
    ASSERT_LE(packs.size(), Plan(lengths, spec)->size());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, testing::Range(0, 10));

// --- Small cases
// ------------------------------------------------------------------

// The fewest packs there are, by trying every pack for the first unit.
size_t FewestPacks(Lengths lengths, uint32_t capacity, size_t max_units) {
  if (lengths.empty()) return 0;
  size_t fewest = lengths.size();
  for (uint32_t set = 1; set < 1u << lengths.size(); set += 2) {
    Lengths rest;
    uint64_t total = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (set >> i & 1) {
        total += lengths[i];
      } else {
        rest.push_back(lengths[i]);
      }
    }
    if (total > capacity || lengths.size() - rest.size() > max_units) continue;
    fewest = std::min(fewest, 1 + FewestPacks(rest, capacity, max_units));
  }
  return fewest;
}

// Every sequence of up to 5 lengths: never fewer packs than there can be, and
// at the end of a list that was held whole never more.
TEST(Sliding, IsOptimalOnTheSmallest) {
  for (uint32_t capacity = 1; capacity <= 5; ++capacity) {
    for (int64_t max_sequences : {0, 2}) {
      Lengths lengths;
      const std::function<void()> visit = [&] {
        const size_t fewest = FewestPacks(
            lengths, capacity, max_sequences == 0 ? 99 : max_sequences);
        for (int64_t window : {2, 5}) {
          const Packs packs = CheckedPacks(
              lengths,
              Sliding(capacity, window, Effort::kBalanced, 0, max_sequences));
          ASSERT_GE(packs.size(), fewest);
          if (window == 5) {
            ASSERT_EQ(packs.size(), fewest)
                << testing::PrintToString(lengths) << " in " << capacity;
          }
        }
        if (lengths.size() == 5) return;
        for (uint32_t length = 1; length <= capacity; ++length) {
          lengths.push_back(length);
          visit();
          if (testing::Test::HasFailure()) return;
          lengths.pop_back();
        }
      };
      visit();
    }
  }
}

TEST(Sliding, ReleasesAroundTheLongestWhenTheWindowIsFull) {
  const std::unique_ptr<Rule> rule = NewSlidingRule(Sliding(10, 3));
  Packs packs;
  rule->Add({4, 3, 7}, &packs);
  EXPECT_TRUE(packs.empty());
  rule->Add({9}, &packs);
  EXPECT_EQ(packs, MakePacks({{1, 2}}));
  EXPECT_EQ(rule->oldest_pending(), 0u);
}

TEST(Sliding, FastReleasesAroundTheOldest) {
  const std::unique_ptr<Rule> rule =
      NewSlidingRule(Sliding(10, 3, Effort::kFast));
  Packs packs;
  rule->Add({6, 7, 4}, &packs);
  EXPECT_TRUE(packs.empty());
  EXPECT_EQ(rule->pending(), 3u);
  rule->Add({9}, &packs);
  EXPECT_EQ(packs, MakePacks({{0, 2}}));
  rule->Add({3}, &packs);
  EXPECT_EQ(packs, MakePacks({{0, 2}}));
  EXPECT_EQ(rule->oldest_pending(), 1u);
  rule->Flush(&packs);
  EXPECT_EQ(packs, MakePacks({{0, 2}, {1, 4}, {3}}));
}

TEST(Sliding, TakesTheOldestOfEqualLengths) {
  const std::unique_ptr<Rule> rule = NewSlidingRule(Sliding(10, 4));
  Packs packs;
  rule->Add({5, 5, 5, 5, 5}, &packs);
  EXPECT_EQ(packs, MakePacks({{0, 1}}));
}

TEST(Sliding, AFullPackNeedNotWait) {
  const std::unique_ptr<Rule> rule = NewSlidingRule(Sliding(10, 4));
  Packs packs;
  rule->Add({4, 10, 4}, &packs);
  EXPECT_EQ(packs, MakePacks({{1}}));
  EXPECT_EQ(rule->pending(), 2u);
}

TEST(Sliding, NothingWaitsForMoreArrivalsThanAllowed) {
  for (uint64_t limit : {1, 2, 5}) {
    const std::unique_ptr<Rule> rule =
        NewSlidingRule(Sliding(10, 100, Effort::kBalanced, limit));
    Packs packs;
    for (uint64_t i = 0; i < 20; ++i) {  // no two share a pack
      rule->Add({6}, &packs);
      EXPECT_EQ(packs.size(), i <= limit ? 0 : i - limit);
    }
  }
}

TEST(Sliding, WindowOfOne) {
  EXPECT_EQ(CheckedPacks({3, 4, 10, 5}, Sliding(10, 1)),
            MakePacks({{0}, {2}, {1}, {3}}));
}

TEST(Sliding, OneUnitAPack) {
  const Packs packs =
      CheckedPacks({1, 1, 5, 1}, Sliding(10, 2, Effort::kThorough, 0, 1));
  EXPECT_EQ(packs, MakePacks({{0}, {1}, {2}, {3}}));
}

TEST(Sliding, CapacityOne) {
  EXPECT_EQ(CheckedPacks({1, 1, 1}, Sliding(1, 5)), MakePacks({{0}, {1}, {2}}));
}

TEST(Sliding, AllEqual) {
  for (Effort effort : {Effort::kFast, Effort::kBalanced, Effort::kThorough}) {
    for (uint32_t length : {1, 7, 33, 50, 51}) {
      for (int64_t max_sequences : {0, 3}) {
        const size_t per_pack =
            max_sequences == 0 ? 100 / length : std::min(3u, 100 / length);
        // The window takes whole packs, and so does the end.
        const size_t n = 600 * per_pack;
        EXPECT_EQ(
            CheckedPacks(Lengths(n, length),
                         Sliding(100, 20 * per_pack, effort, 0, max_sequences))
                .size(),
            600u);
      }
    }
  }
}

TEST(Sliding, LargestSpec) {
  const uint32_t most = 2147483647;
  PackSpec spec = Sliding(most, kMaxWindowSequences, Effort::kThorough,
                          kMaxDisplacementSequences, kMaxSequencesPerPack);
  EXPECT_EQ(CheckedPacks({most / 2, most, 1, most - 1, most / 2 + 1}, spec),
            MakePacks({{1}, {0, 4}, {2, 3}}));
  spec.sequence_alignment = most;
  EXPECT_EQ(*Plan({1, most, 5}, spec), MakePacks({{0}, {1}, {2}}));
}

// Short units at a huge capacity all fit one pack.
TEST(Sliding, ShortUnitsAtTheLargestCapacity) {
  std::mt19937 random(1);
  const Lengths lengths = RandomLengths(5000, 1000, &random);
  EXPECT_EQ(CheckedPacks(lengths, Sliding(2147483647, 1000)).size(), 5u);
}

TEST(Sliding, RoundsUpToTheAlignment) {
  PackSpec spec = Sliding(24, 4);
  spec.sequence_alignment = 8;
  EXPECT_EQ(*Plan({9, 8, 9, 1}, spec), MakePacks({{0, 1}, {2, 3}}));
}

// --- What it is for
// -----------------------------------------------------------------

Lengths ReadHistogram(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << path;
  Lengths lengths;
  char line[64];
  gzgets(file, line, sizeof line);  // the names of the columns
  while (gzgets(file, line, sizeof line) != nullptr) {
    unsigned length = 0, count = 0;
    EXPECT_EQ(std::sscanf(line, "%u,%u", &length, &count), 2) << line;
    lengths.insert(lengths.end(), count, length);
  }
  gzclose(file);
  return lengths;
}

Lengths Shuffled(Lengths lengths, uint32_t seed) {
  std::mt19937 random(seed);
  for (size_t i = lengths.size(); i > 1; --i) {
    std::swap(lengths[i - 1], lengths[random() % i]);
  }
  return lengths;
}

// SQuAD at 384: two or three sequences a pack, where best-fit decreasing over
// the whole list takes 40,631 packs and 40,195 is the optimum.
TEST(Sliding, BeatsOfflineBestFitOnSquad) {
  const Lengths lengths =
      Shuffled(ReadHistogram("data/lengths/squad11_bert384.hist.csv.gz"), 1);
  for (Effort effort : {Effort::kFast, Effort::kBalanced}) {
    const PackSpec spec = Sliding(384, 1024, effort);
    const Packs packs = *Plan(lengths, spec);
    EXPECT_THAT(Verify(lengths, spec, packs), IsOk());
    EXPECT_LE(packs.size(), 40260u);
  }
  EXPECT_LE(Plan(lengths, Sliding(384, 64))->size(), 40580u);
  EXPECT_LE(Plan(lengths, Sliding(384, 1024, Effort::kBalanced, 0, 3))->size(),
            40270u);
}

// Stretches of long sequences and of short ones, each longer than the window,
// where it is long ones that wait; and the same with a limit on the number.
TEST(Sliding, KeepsTheAgeBoundOnClusteredInput) {
  std::mt19937 random(7);
  Lengths lengths;
  for (int stretch = 0; stretch < 20; ++stretch) {
    for (uint32_t l : RandomLengths(300, stretch % 2 ? 30 : 45, &random)) {
      lengths.push_back(stretch % 2 ? l : l + 55);
    }
  }
  for (int64_t max_sequences : {0, 4}) {
    const PackSpec spec =
        Sliding(100, 100, Effort::kBalanced, 250, max_sequences);
    const Packs packs = CheckedPacks(lengths, spec);
    EXPECT_LE(Summarize(lengths, spec, packs)->max_displacement, 250u);
  }
}

}  // namespace
}  // namespace packhouse
