// Plans of whole lists: the published forms against a slow reading of their
// description, `best` against everything there is, and what holds for all.

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/histogram.h"
#include "packhouse/packer.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "packing/offline/best.h"
#include "packing/offline/fill.h"
#include "packing/offline/nnls.h"
#include "packing/offline/nnlshp.h"
#include "packing/offline/reference.h"
#include "tests/packing/optimum.h"
#include "tests/packs.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uint32_t kNoLimit = 1u << 30;

std::vector<std::string> OfflineNames() {
  std::vector<std::string> names;
  for (const std::string& name : AlgorithmNames()) {
    if (!IsOnline(name)) names.push_back(name);
  }
  return names;
}

std::vector<FootprintCount> CountsOf(const std::vector<uint32_t>& lengths) {
  std::map<uint32_t, uint64_t> histogram;
  for (uint32_t length : lengths) ++histogram[length];
  std::vector<FootprintCount> counts;
  for (const auto& [f, n] : histogram) counts.push_back({f, n});
  return counts;
}

// Footprints of a pack, descending -> how many such packs.
using Contents = std::map<std::vector<uint32_t>, uint64_t>;

Contents ContentsOf(const FootprintGroups& groups) {
  Contents contents;
  for (const FootprintGroup& group : groups) {
    std::vector<uint32_t> pack;
    for (const FootprintCount& c : group.footprints) {
      pack.insert(pack.end(), c.count, c.footprint);
    }
    contents[pack] += group.count;
  }
  return contents;
}

// Packs one by one, as the description of the batch forms reads: a class of
// packs for each room, in which what was filed last comes first.
struct SlowPack {
  std::vector<uint32_t> footprints;
  uint64_t group;  // packs of one group are alike and stay together
};

// A class is a stack of groups; a group is a count of equal packs.
struct SlowGroup {
  uint64_t count;
  std::vector<uint32_t> pack;
};
using SlowClasses = std::vector<std::vector<SlowGroup>>;  // by room

void SlowFile(SlowGroup group, uint32_t capacity, uint32_t max_units,
              SlowClasses* open, Contents* closed) {
  uint32_t room = capacity;
  for (uint32_t footprint : group.pack) room -= footprint;
  if (room == 0 || group.pack.size() == max_units) {
    (*closed)[group.pack] += group.count;
  } else {
    (*open)[room].push_back(group);
  }
}

Contents SlowClose(const SlowClasses& open, Contents closed) {
  for (const auto& stack : open) {
    for (const SlowGroup& group : stack) closed[group.pack] += group.count;
  }
  return closed;
}

Contents SlowSpfhp(const std::vector<uint64_t>& histogram, uint32_t capacity,
                   uint32_t max_units) {
  SlowClasses open(capacity + 1);
  Contents closed;
  for (uint32_t length = capacity; length > 0; --length) {
    uint64_t left = histogram[length];
    uint32_t room = capacity;
    while (left > 0 && room >= length) {
      if (open[room].empty()) {
        --room;  // and never up again
        continue;
      }
      SlowGroup group = open[room].back();
      open[room].pop_back();
      if (group.count > left) {
        open[room].push_back({group.count - left, group.pack});
        group.count = left;
      }
      left -= group.count;
      group.pack.push_back(length);
      SlowFile(group, capacity, max_units, &open, &closed);
    }
    if (left > 0) {
      SlowFile({left, {length}}, capacity, max_units, &open, &closed);
    }
  }
  return SlowClose(open, closed);
}

Contents SlowLpfhp(const std::vector<uint64_t>& histogram, uint32_t capacity,
                   uint32_t max_units) {
  SlowClasses open(capacity + 1);
  Contents closed;
  for (uint32_t length = capacity; length > 0; --length) {
    uint64_t left = histogram[length];
    uint32_t room = length;
    while (left > 0 && room <= capacity) {
      if (open[room].empty()) {
        ++room;
        continue;
      }
      SlowGroup group = open[room].back();
      open[room].pop_back();
      uint64_t copies =
          std::min<uint64_t>(room / length, max_units - group.pack.size());
      while (left / copies == 0) --copies;
      const uint64_t packs = std::min(group.count, left / copies);
      if (group.count > packs) {
        open[room].push_back({group.count - packs, group.pack});
      }
      left -= packs * copies;
      group.count = packs;
      group.pack.insert(group.pack.end(), copies, length);
      SlowFile(group, capacity, max_units, &open, &closed);
      room = length;
    }
    while (left > 0) {
      uint64_t copies = std::min<uint64_t>(capacity / length, max_units);
      while (left / copies == 0) --copies;
      const uint64_t packs = left / copies;
      left -= packs * copies;
      SlowFile({packs, std::vector<uint32_t>(copies, length)}, capacity,
               max_units, &open, &closed);
    }
  }
  return SlowClose(open, closed);
}

TEST(Reference, EqualsTheDescription) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    const uint32_t capacity = 1 + random() % 30;
    const uint32_t max_units = random() % 2 ? kNoLimit : 1 + random() % 6;
    std::vector<uint64_t> histogram(capacity + 1);
    std::vector<FootprintCount> counts;
    for (uint32_t f = 1; f <= capacity; ++f) {
      if (random() % 3) continue;
      histogram[f] = 1 + random() % 30;
      counts.push_back({f, histogram[f]});
    }
    ASSERT_EQ(ContentsOf(PackSpfhpReference(counts, capacity, max_units)),
              SlowSpfhp(histogram, capacity, max_units))
        << "round " << round;
    ASSERT_EQ(ContentsOf(PackLpfhpReference(counts, capacity, max_units)),
              SlowLpfhp(histogram, capacity, max_units))
        << "round " << round;
  }
}

// Where one at a time and the published form differ.
TEST(Reference, OpensAPackForEachCopyLeftOver) {
  const auto packs = [](std::vector<uint32_t> lengths, int64_t capacity,
                        int64_t limit = 0) {
    PackSpec spec = MakeSpec(capacity, 1024);
    spec.max_sequences_per_pack = limit;
    std::vector<size_t> sizes;
    for (const char* name : {"spfhp_reference", "spfhp"}) {
      spec.algorithm = name;
      sizes.push_back(Plan(lengths, spec)->size());
    }
    return sizes;
  };
  using Sizes = std::vector<size_t>;
  EXPECT_EQ(packs({4, 4}, 8), (Sizes{2, 1}));
  EXPECT_EQ(packs({4, 4, 4, 4, 4, 4}, 8), (Sizes{6, 3}));
  EXPECT_EQ(packs(std::vector<uint32_t>(10, 1), 10, 4), (Sizes{10, 3}));
  EXPECT_EQ(packs({5, 3, 3, 3, 1}, 7), (Sizes{4, 3}));
  EXPECT_EQ(packs({5, 4, 3, 2, 2}, 8), (Sizes{3, 3}));

  PackSpec spec = MakeSpec(7, 1024);
  spec.algorithm = "spfhp_reference";
  EXPECT_EQ(*Plan({5, 3, 3, 3, 1}, spec), MakePacks({{0}, {1, 4}, {2}, {3}}));
}

TEST(Nnls, SolvesSmallSystems) {
  // x = (1, 2) fits exactly.
  const std::vector<SparseColumn> square = {{{0, 1}, {1, 1}}, {{1, 1}}};
  std::vector<double> x = NonNegativeLeastSquares(square, {1, 3});
  EXPECT_NEAR(x[0], 1, 1e-12);
  EXPECT_NEAR(x[1], 2, 1e-12);
  // Without the sign x1 would be -1; with it, x0 is the mean of 2 and 1.
  x = NonNegativeLeastSquares(square, {2, 1});
  EXPECT_NEAR(x[0], 1.5, 1e-12);
  EXPECT_EQ(x[1], 0);
}

// The conditions of Karush, Kuhn and Tucker, which say that x is a solution.
TEST(Nnls, IsOptimal) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    const size_t rows = 1 + random() % 12;
    std::vector<SparseColumn> columns(1 + random() % 40);
    for (SparseColumn& column : columns) {
      for (size_t row = 0; row < rows; ++row) {
        if (random() % 4 == 0) column.push_back({row, 1.0 + random() % 3});
      }
    }
    std::vector<double> b(rows);
    for (double& value : b) value = random() % 1000;
    const std::vector<double> x = NonNegativeLeastSquares(columns, b);
    std::vector<double> residual = b;
    for (size_t j = 0; j < columns.size(); ++j) {
      ASSERT_GE(x[j], 0);
      for (const MatrixEntry& e : columns[j]) residual[e.row] -= e.value * x[j];
    }
    for (size_t j = 0; j < columns.size(); ++j) {
      double gradient = 0;
      for (const MatrixEntry& e : columns[j]) {
        gradient += e.value * residual[e.row];
      }
      ASSERT_LE(gradient, 1e-6) << "round " << round;
      if (x[j] > 1e-9) {
        ASSERT_NEAR(gradient, 0, 1e-6) << "round " << round;
      }
    }
  }
}

TEST(Nnlshp, FillsExactlyWherePossible) {
  PackSpec spec = MakeSpec(10, 1024);
  spec.algorithm = "nnlshp";
  EXPECT_EQ(*Plan({5, 4, 1, 10, 7, 3}, spec),
            MakePacks({{0, 1, 2}, {3}, {4, 5}}));
  // Never more than three, whatever is allowed.
  const Packs packs = *Plan(std::vector<uint32_t>(30, 1), spec);
  for (size_t i = 0; i < packs.size(); ++i) EXPECT_LE(packs[i].size(), 3u);
}

// What every rule owes, on lists that ask for everything at once.
class OfflineRule : public testing::TestWithParam<std::string> {};

TEST_P(OfflineRule, GivesLegalPlansOfListsAndHistograms) {
  std::mt19937 random(23);
  for (int round = 0; round < 150; ++round) {
    PackSpec spec = MakeSpec(1 + random() % 60, 1 + random() % 20);
    spec.algorithm = GetParam();
    if (spec.algorithm == "best") spec.budget_seconds = 0.02;
    spec.max_sequences_per_pack = random() % 2 ? 0 : 1 + random() % 5;
    spec.sequence_alignment =
        random() % 2 ? 1 : 1 + random() % spec.capacity_tokens;
    if (random() % 2) spec.seed = random();
    if (random() % 3 == 0) {
      spec.overlong = static_cast<Overlong>(1 + random() % 4);
      spec.empty = Empty::kDrop;
    }
    const bool any = spec.empty == Empty::kDrop;
    std::vector<uint32_t> lengths(random() % 60);
    for (uint32_t& length : lengths) {
      length = any ? random() % (2 * spec.capacity_tokens)
                   : 1 + random() % LongestPiece(spec);
    }
    PlanNotes notes;
    const absl::StatusOr<Packs> packs = Plan(lengths, spec, &notes);
    ASSERT_THAT(packs, IsOk());
    ASSERT_THAT(Verify(lengths, spec, *packs), IsOk()) << "round " << round;
    ASSERT_GE(packs->size(), *LowerBoundPacks(lengths, spec));
    if (spec.algorithm == "best") {
      EXPECT_GE(packs->size(), notes.lower_bound_packs);
      EXPECT_GE(notes.lower_bound_packs, *LowerBoundPacks(lengths, spec));
    }

    std::vector<LengthCount> histogram;
    for (uint32_t length : lengths) histogram.push_back({length, 1});
    const absl::StatusOr<HistogramPlan> plan = PlanHistogram(histogram, spec);
    ASSERT_THAT(plan, IsOk());
    // The same packs, but for `best`: it has the rules for streams on a list.
    if (spec.algorithm != "best") {
      EXPECT_EQ(plan->report.packs, packs->size());
    }
    std::map<uint32_t, uint64_t> left;
    for (const LengthCount& c : histogram) ++left[c.length];
    for (const HistogramPlan::Group& group : plan->groups) {
      uint64_t used = 0;
      uint64_t units = 0;
      uint64_t longer = ~uint64_t{0};
      for (const LengthCount& c : group.lengths) {
        ASSERT_LT(c.length, longer);
        longer = c.length;
        used += Footprint(spec, c.length) * c.count;
        units += c.count;
        if (!any) left[c.length] -= c.count * group.count;
      }
      ASSERT_GT(units, 0u);
      ASSERT_LE(used, uint64_t(spec.capacity_tokens));
      if (spec.max_sequences_per_pack > 0) {
        ASSERT_LE(units, uint64_t(spec.max_sequences_per_pack));
      }
    }
    if (!any) {
      for (const auto& [length, count] : left) ASSERT_EQ(count, 0u) << length;
    }
  }
}

TEST_P(OfflineRule, TakesExtremes) {
  PackSpec spec = MakeSpec(1, 1);
  spec.algorithm = GetParam();
  EXPECT_TRUE(Plan({}, spec)->empty());
  EXPECT_EQ(*Plan({1, 1}, spec), MakePacks({{0}, {1}}));
  EXPECT_THAT(Plan({1, 2}, spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("length 2 > capacity 1")));
  spec = MakeSpec(1000, 1024);
  spec.algorithm = GetParam();
  const HistogramPlan plan =
      *PlanHistogram({{999, 1000000000000}, {1, 1000000000000}}, spec);
  EXPECT_EQ(plan.report.packs, 1000000000000u);
}

// Equal units keep their order of arrival, packs that of their openers.
TEST_P(OfflineRule, BindsInOrderOfArrival) {
  PackSpec spec = MakeSpec(10, 2);
  spec.algorithm = GetParam();
  EXPECT_EQ(*Plan({4, 6, 4, 6, 10}, spec), MakePacks({{0, 1}, {2, 3}, {4}}));
}

TEST_P(OfflineRule, IsNotForStreams) {
  PackSpec spec = MakeSpec(10, 2);
  spec.algorithm = GetParam();
  EXPECT_THAT(Packer::Create(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(GetParam()), HasSubstr("lpfhp"))));
}

INSTANTIATE_TEST_SUITE_P(All, OfflineRule, testing::ValuesIn(OfflineNames()));

// Time that never passes, and a solver or none.
BestPlan Best(const std::vector<uint32_t>& lengths, uint32_t capacity,
              uint32_t max_units, bool use_lp) {
  return PackBest(CountsOf(lengths), capacity, max_units, {}, use_lp,
                  [] { return 0.0; });
}

TEST(Best, BoundsTheOptimumFromBothSides) {
  std::mt19937 random(29);
  int optimal = 0;
  for (int round = 0; round < 600; ++round) {
    const uint32_t capacity = 1 + random() % 40;
    const uint32_t max_units = random() % 2 ? kNoLimit : 1 + random() % 4;
    std::vector<uint32_t> lengths(1 + random() % 10);
    for (uint32_t& length : lengths) length = 1 + random() % capacity;
    const uint64_t optimum = Optimum(lengths, capacity, max_units);
    for (const bool use_lp : {false, true}) {
      if (use_lp && !LpAvailable()) continue;
      const BestPlan plan = Best(lengths, capacity, max_units, use_lp);
      ASSERT_TRUE(
          IsPlanOf(plan.groups, CountsOf(lengths), capacity, max_units));
      ASSERT_GE(CountPacks(plan.groups), optimum);
      ASSERT_LE(plan.lower_bound_packs, optimum) << "round " << round;
      EXPECT_FALSE(plan.is_cut_short);
      optimal += CountPacks(plan.groups) == optimum;
    }
  }
  EXPECT_GE(optimal, LpAvailable() ? 1195 : 595);
}

TEST(Best, NeverHasMorePacksThanAnyOtherRule) {
  std::mt19937 random(31);
  for (int round = 0; round < 40; ++round) {
    PackSpec spec = MakeSpec(20 + random() % 100, 10 + random() % 100);
    spec.max_sequences_per_pack = random() % 2 ? 0 : 2 + random() % 5;
    const std::vector<uint32_t> lengths =
        RandomLengths(150, spec.capacity_tokens, &random);
    spec.algorithm = "best";
    spec.budget_seconds = 1e-9;
    const size_t best = Plan(lengths, spec)->size();
    spec.budget_seconds = 0;
    for (const std::string& name : AlgorithmNames()) {
      if (name == "best") continue;
      spec.algorithm = name;
      EXPECT_LE(best, Plan(lengths, spec)->size()) << name << " " << round;
    }
  }
}

TEST(Best, SaysWhatItKnows) {
  PackSpec spec = MakeSpec(10, 1024);
  spec.algorithm = "best";
  PlanNotes notes;
  EXPECT_EQ(Plan({6, 4, 5, 5}, spec, &notes)->size(), 2u);
  EXPECT_EQ(notes.lower_bound_packs, 2u);
  EXPECT_EQ(notes.found_by, "lpfhp");
  EXPECT_EQ(notes.lp_available, LpAvailable());
  EXPECT_FALSE(notes.is_cut_short);
}

// Best-fit decreasing gives three packs here; 6 + 3 + 1 and 4 + 4 + 2 fill two.
TEST(Best, TakesAPlanThatIsOffered) {
  const std::vector<FootprintCount> counts = {{3, 3}, {4, 1}, {5, 1}, {6, 1}};
  const FootprintGroups offered = {{{{6, 1}, {3, 2}}, 1},
                                   {{{5, 1}, {4, 1}, {3, 1}}, 1}};
  int asked = 0;
  const BestPlan plan = PackBest(counts, 12, kNoLimit,
                                 {{"offered",
                                   [&] {
                                     ++asked;
                                     return offered;
                                   }}},
                                 false, [] { return 1.0; });
  EXPECT_EQ(CountPacks(plan.groups), 2u);
  EXPECT_LE(asked, 1);
}

TEST(Fill, SubsetSumsLeaveNothingEmptyWherePossible) {
  std::mt19937 random(37);
  for (int round = 0; round < 300; ++round) {
    const uint32_t capacity = 1 + random() % 300;
    const std::vector<FootprintCount> counts =
        CountsOf(RandomLengths(1 + random() % 60, capacity, &random));
    const FootprintGroups groups =
        PackBySubsetSum(counts, capacity, [] { return false; });
    ASSERT_TRUE(IsPlanOf(groups, counts, capacity, kNoLimit));
    // No subset of what was left then fills the first pack better.
    const FootprintGroup& first = groups.front();
    std::vector<uint64_t> left;
    std::vector<bool> reachable(capacity + 1);
    reachable[counts.back().footprint] = true;
    for (const FootprintCount& c : counts) {
      const bool is_anchor = c.footprint == counts.back().footprint;
      for (uint64_t k = is_anchor; k < c.count; ++k) {
        for (uint32_t sum = capacity; sum >= c.footprint; --sum) {
          if (sum - c.footprint >= counts.back().footprint &&
              reachable[sum - c.footprint]) {
            reachable[sum] = true;
          }
        }
      }
    }
    uint32_t fullest = capacity;
    while (!reachable[fullest]) --fullest;
    uint64_t used = 0;
    for (const FootprintCount& c : first.footprints) {
      used += c.footprint * c.count;
    }
    EXPECT_EQ(used, fullest) << "round " << round;
  }
  EXPECT_TRUE(PackBySubsetSum({{{1, 5}}}, 2, [] { return true; }).empty());
}

TEST(Fill, DepthAwareKeepsRoomAndPlacesLevel) {
  std::mt19937 random(41);
  for (int round = 0; round < 300; ++round) {
    const uint32_t capacity = 1 + random() % 300;
    const uint32_t max_units = 1 + random() % 6;
    const std::vector<FootprintCount> counts =
        CountsOf(RandomLengths(1 + random() % 60, capacity, &random));
    ASSERT_TRUE(IsPlanOf(PackEvenly(counts, capacity, max_units), counts,
                         capacity, max_units));
  }
  // Two of three units a pack: large with small, where best-fit decreasing
  // pairs the large ones and is left with the small.
  const std::vector<FootprintCount> counts = {{1, 100}, {8, 100}};
  EXPECT_EQ(CountPacks(PackEvenly(counts, 16, 2)), 100u);
}

TEST(ValidateSpec, NnlshpHasALimit) {
  PackSpec spec = MakeSpec(1025, 1024);
  spec.algorithm = "nnlshp";
  EXPECT_THAT(ValidateSpec(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("1024"), HasSubstr("is 1025"))));
  spec.sequence_alignment = 2;
  EXPECT_THAT(ValidateSpec(spec), IsOk());
}

}  // namespace
}  // namespace packhouse
