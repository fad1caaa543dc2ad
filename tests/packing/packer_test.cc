#include "packhouse/packer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <ostream>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "tests/packing/naive_packer.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

PackSpec Spec(const std::string& algorithm, int64_t capacity,
              int64_t window = 1024, int64_t max_sequences = 0,
              int64_t alignment = 1) {
  PackSpec spec;
  spec.algorithm = algorithm;
  spec.capacity_tokens = capacity;
  spec.window_sequences = window;
  spec.max_sequences_per_pack = max_sequences;
  spec.sequence_alignment = alignment;
  return spec;
}

Packs MustPlan(const Lengths& lengths, const PackSpec& spec) {
  absl::StatusOr<Packs> packs = Plan(lengths, spec);
  EXPECT_THAT(packs, IsOk());
  return *packs;
}

// --- Known values ----------------------------------------------------------

struct Known {
  const char* algorithm;
  Lengths lengths;
  int64_t capacity;
  std::vector<std::vector<uint64_t>> packs;
  int64_t window = 1024;
  int64_t max_sequences = 0;
  int64_t alignment = 1;
};

void PrintTo(const Known& k, std::ostream* out) {
  *out << k.algorithm << " " << testing::PrintToString(k.lengths)
       << " capacity " << k.capacity;
}

class KnownValues : public testing::TestWithParam<Known> {};

TEST_P(KnownValues, Match) {
  const Known& k = GetParam();
  const PackSpec spec =
      Spec(k.algorithm, k.capacity, k.window, k.max_sequences, k.alignment);
  EXPECT_EQ(MustPlan(k.lengths, spec), MakePacks(k.packs));
}

// The numbers are rows of the public bug reports that users of other packers
// wrote: exact fits refused, limits that hold in the first window only, equal
// lengths that never share a pack, a rule under another's name.
INSTANTIATE_TEST_SUITE_P(
    Rows, KnownValues,
    testing::Values(
        Known{"spfhp", {4, 4}, 8, {{0, 1}}},
        Known{"spfhp", {4, 4, 4, 4, 4, 4}, 8, {{0, 1}, {2, 3}, {4, 5}}},
        Known{"spfhp", {5, 3, 3, 3, 1}, 7, {{0}, {1, 2}, {3, 4}}},
        Known{"lpfhp", {5, 3, 3, 3, 1}, 7, {{0}, {1, 2, 4}, {3}}},
        Known{"spfhp", {5, 4, 3, 2, 2}, 8, {{0, 3}, {1, 2}, {4}}},
        Known{"spfhp", {5, 4, 5, 4, 5, 4}, 9, {{0, 1}, {2, 3}, {4, 5}}},
        // A limit on the number, also in the second window.
        Known{"spfhp",
              {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
              10,
              {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9}},
              1024,
              4},
        Known{"lpfhp",
              {1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
              10,
              {{0, 1, 2, 3}, {4}, {5, 6, 7, 8}, {9}},
              5,
              4},
        // The last window is not full.
        Known{"spfhp",
              {4, 4, 4, 4, 4, 4, 4},
              8,
              {{0, 1}, {2, 3}, {4, 5}, {6}},
              4},
        // An exact fit fits.
        Known{"spfhp", {8, 8, 1, 7}, 8, {{0}, {1}, {2, 3}}},
        Known{"spfhp", {8}, 8, {{0}}}, Known{"lpfhp", {3}, 8, {{0}}},
        Known{"spfhp", {}, 8, {}},
        // Released by opener (1), not by first ordinal (0).
        Known{"spfhp", {3, 5, 8}, 8, {{0, 1}, {2}}},
        Known{"spfhp", {1, 8, 7}, 8, {{1}, {0, 2}}},
        // The last sequence of a pack is rounded up too.
        Known{"spfhp", {5, 3}, 8, {{0}, {1}}, 1024, 0, 4},
        Known{"lpfhp", {5, 3, 4}, 12, {{0, 1}, {2}}, 1024, 0, 4},
        // The remainder of the capacity behind the last multiple is of no use.
        Known{"spfhp", {4, 4, 1}, 11, {{0, 1}, {2}}, 1024, 0, 4},
        Known{"spfhp", {7, 1}, 11, {{0}, {1}}, 1024, 0, 8}));

// [5, 4] * 3 at every small capacity: a search tree over the rooms that is cut
// short at a power of two shows here.
TEST(Packer, EveryCapacityAroundPowersOfTwo) {
  for (const char* algorithm : {"spfhp", "lpfhp"}) {
    for (int64_t capacity = 5; capacity <= 1030; ++capacity) {
      const PackSpec spec = Spec(algorithm, capacity);
      const Lengths lengths = {5, 4, 5, 4, 5, 4};
      ASSERT_EQ(MustPlan(lengths, spec), NaivePlan(lengths, spec))
          << algorithm << " capacity " << capacity;
    }
  }
}

// Many equal packs: ties at the sizes where trees and arrays double.
TEST(Packer, ManyEqualSequences) {
  for (const char* algorithm : {"spfhp", "lpfhp"}) {
    for (size_t n : {0,  1,  2,  3,  4,  5,  7,  8,   9,   15, 16,
                     17, 31, 32, 33, 63, 64, 65, 127, 128, 129}) {
      EXPECT_EQ(MustPlan(Lengths(n, 51), Spec(algorithm, 100)).size(), n);
      EXPECT_EQ(MustPlan(Lengths(n, 50), Spec(algorithm, 100)).size(),
                (n + 1) / 2);
    }
  }
}

// --- Against the oracle -----------------------------------------------------

// Every sequence of up to 7 lengths at every capacity up to 7, ties and order
// included.
class Exhaustive : public testing::TestWithParam<const char*> {};

TEST_P(Exhaustive, AllSmallInputs) {
  for (uint32_t capacity = 1; capacity <= 7; ++capacity) {
    const PackSpec spec = Spec(GetParam(), capacity);
    Lengths lengths;
    const std::function<void()> visit = [&] {
      ASSERT_EQ(MustPlan(lengths, spec), NaivePlan(lengths, spec))
          << "capacity " << capacity << " lengths "
          << testing::PrintToString(lengths);
      if (lengths.size() == 7) return;
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

// The limits: every sequence of up to 5 lengths with every window, number and
// alignment that can matter.
TEST_P(Exhaustive, AllSmallSpecs) {
  for (uint32_t capacity : {1, 4, 6}) {
    for (int64_t window : {1, 2, 3, 5}) {
      for (int64_t max_sequences : {0, 1, 2, 3}) {
        for (int64_t alignment = 1; alignment <= int64_t{capacity};
             ++alignment) {
          const PackSpec spec =
              Spec(GetParam(), capacity, window, max_sequences, alignment);
          const uint32_t longest = capacity - capacity % alignment;
          Lengths lengths;
          const std::function<void()> visit = [&] {
            ASSERT_EQ(MustPlan(lengths, spec), NaivePlan(lengths, spec))
                << testing::PrintToString(lengths);
            if (lengths.size() == 5) return;
            for (uint32_t length = 1; length <= longest; ++length) {
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
  }
}

INSTANTIATE_TEST_SUITE_P(Rules, Exhaustive, testing::Values("spfhp", "lpfhp"));

// Random specs and lists with many ties, cut into random pieces with random
// flushes between them.
class Random : public testing::TestWithParam<int> {};

TEST_P(Random, EqualsOracleHoweverTheInputIsCut) {
  std::mt19937 rng(GetParam());
  const auto uniform = [&](uint64_t low, uint64_t high) {
    return std::uniform_int_distribution<uint64_t>(low, high)(rng);
  };
  for (int round = 0; round < 60; ++round) {
    constexpr int64_t kCapacities[] = {1,    2,     3,      17,        64,
                                       65,   127,   512,    2048,      8192,
                                       8193, 65536, 131072, 2147483647};
    const int64_t capacity = kCapacities[uniform(0, 13)];
    const int64_t alignment =
        uniform(0, 2) > 0 ? 1 : uniform(1, std::min<int64_t>(capacity, 100));
    PackSpec spec = Spec(
        uniform(0, 1) ? "spfhp" : "lpfhp", capacity, uniform(1, 400),
        uniform(0, 1) ? 0 : static_cast<int64_t>(uniform(1, 9)), alignment);
    if (uniform(0, 1)) {
      spec.overlong = static_cast<Overlong>(uniform(0, 4));
      spec.empty = static_cast<Empty>(uniform(0, 1));
    }
    // Lengths around a random scale; sometimes only a few distinct ones.
    const uint64_t longest = spec.capacity_tokens - capacity % alignment;
    const uint64_t scale = uniform(1, longest);
    const uint64_t grain = uniform(0, 1) ? 1 : std::max<uint64_t>(1, scale / 5);
    Lengths lengths(uniform(0, 900));
    for (uint32_t& length : lengths) {
      const uint64_t drawn =
          uniform(0, 9) == 0 ? uniform(1, longest) : uniform(1, scale);
      length = static_cast<uint32_t>(
          std::min(longest, (drawn + grain - 1) / grain * grain));
      if (spec.empty == Empty::kDrop && uniform(0, 9) == 0) length = 0;
      if (spec.overlong != Overlong::kError && uniform(0, 9) == 0) {
        length = static_cast<uint32_t>(std::min<uint64_t>(
            LongestAccepted(spec), longest + uniform(1, 5 * longest)));
      }
    }

    absl::StatusOr<Packer> packer = Packer::Create(spec);
    ASSERT_THAT(packer, IsOk());
    Packs packs;
    std::set<size_t> flushes;
    for (size_t at = 0; at < lengths.size();) {
      const size_t n = std::min(lengths.size() - at, uniform(0, 500));
      ASSERT_THAT(
          packer->Add(absl::MakeConstSpan(lengths).subspan(at, n), &packs),
          IsOk());
      at += n;
      ASSERT_EQ(packer->sequences(), at);
      const Lengths taken(lengths.begin(), lengths.begin() + at);
      ASSERT_EQ(packs.ordinals.size() + packer->pending_units(),
                NaiveUnits(taken, spec).size());
      if (uniform(0, 3) == 0) {
        packer = Packer::Restore(spec, packer->Save());
        ASSERT_THAT(packer, IsOk());
      }
      if (uniform(0, 3) == 0) {
        flushes.insert(at);
        ASSERT_THAT(packer->Flush(&packs), IsOk());
        ASSERT_EQ(packer->pending_units(), 0u);
      }
    }
    ASSERT_THAT(packer->Finish(&packs), IsOk());
    ASSERT_EQ(packs, NaivePlan(lengths, spec, flushes))
        << "seed " << GetParam() << " round " << round;
    ASSERT_THAT(Verify(lengths, spec, packs), IsOk());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Random, testing::Range(0, 20));

// --- Contract ----------------------------------------------------------------

TEST(Packer, ReleasesAWindowAsSoonAsItIsFull) {
  Packer packer = *Packer::Create(Spec("spfhp", 10, 3));
  Packs packs;
  ASSERT_THAT(packer.Add({1, 2}, &packs), IsOk());
  EXPECT_TRUE(packs.empty());
  EXPECT_EQ(packer.pending_units(), 2u);
  ASSERT_THAT(packer.Add({3, 4}, &packs), IsOk());
  EXPECT_EQ(packs, MakePacks({{0, 1, 2}}));
  EXPECT_EQ(packer.pending_units(), 1u);
  EXPECT_EQ(packer.sequences(), 4u);
}

TEST(Packer, RefusesABadPieceWholeAndGoesOn) {
  Packer packer = *Packer::Create(Spec("spfhp", 8));
  Packs packs;
  ASSERT_THAT(packer.Add({3, 4}, &packs), IsOk());
  EXPECT_THAT(packer.Add({1, 9, 2, 0}, &packs),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("2 of 4"),
                             HasSubstr("ordinal 3 has length 9 > capacity 8"),
                             HasSubstr("ordinal 5 has length 0"))));
  EXPECT_EQ(packer.sequences(), 2u);
  ASSERT_THAT(packer.Add({1}, &packs), IsOk());
  ASSERT_THAT(packer.Finish(&packs), IsOk());
  EXPECT_EQ(packs, MakePacks({{0, 1, 2}}));
}

TEST(Packer, TakesNothingAfterFinish) {
  Packer packer = *Packer::Create(Spec("lpfhp", 8));
  Packs packs;
  ASSERT_THAT(packer.Finish(&packs), IsOk());
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("finished"));
  EXPECT_THAT(packer.Add({1}, &packs), refused);
  EXPECT_THAT(packer.Flush(&packs), refused);
  EXPECT_THAT(packer.Finish(&packs), refused);
  EXPECT_TRUE(packs.empty());
}

TEST(Packer, RefusesABadSpec) {
  EXPECT_THAT(Packer::Create(Spec("spfhp", 0)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("capacity_tokens is 0")));
  EXPECT_THAT(Plan({1}, Spec("spfhp", 0)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("capacity_tokens is 0")));
  EXPECT_THAT(Plan({5}, Spec("spfhp", 4)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ordinal 0 has length 5 > capacity 4")));
}

// What a state holds is checked by going on from it; here, that it comes back
// only as it was.
TEST(PackerState, IsRefusedWhereItIsNotWhatWasSaved) {
  PackSpec spec = Spec("spfhp", 8, 100);
  spec.overlong = Overlong::kSplit;
  Packer packer = *Packer::Create(spec);
  Packs packs;
  ASSERT_THAT(packer.Add({3, 20, 4}, &packs), IsOk());
  const std::string state = packer.Save();
  ASSERT_THAT(Packer::Restore(spec, state), IsOk());

  const auto refused = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(text));
  };
  for (size_t size = 0; size < state.size(); ++size) {
    EXPECT_THAT(Packer::Restore(spec, state.substr(0, size)),
                refused("is damaged"));
  }
  for (size_t i = 0; i < state.size(); ++i) {
    std::string damaged = state;
    damaged[i] ^= 0x10;
    EXPECT_THAT(Packer::Restore(spec, damaged), refused("is damaged"));
  }
  PackSpec other = spec;
  other.window_sequences = 101;
  EXPECT_THAT(Packer::Restore(other, state), refused("is of another spec"));
  other = spec;
  other.algorithm = "lpfhp";
  EXPECT_THAT(Packer::Restore(other, state), refused("is of another spec"));
  other.algorithm = "x";
  EXPECT_THAT(Packer::Restore(other, state), refused("algorithm is \"x\""));
}

TEST(PackerState, KnowsThatThePackerWasFinished) {
  Packer packer = *Packer::Create(Spec("spfhp", 8));
  Packs packs;
  ASSERT_THAT(packer.Finish(&packs), IsOk());
  absl::StatusOr<Packer> restored =
      Packer::Restore(packer.spec(), packer.Save());
  ASSERT_THAT(restored, IsOk());
  EXPECT_THAT(
      restored->Add({1}, &packs),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("finished")));
}

TEST(PackerState, IsAsLargeAsWhatIsPending) {
  PackSpec spec = Spec("lpfhp", 1000, 64);
  spec.overlong = Overlong::kSplit;
  spec.empty = Empty::kDrop;
  Packer packer = *Packer::Create(spec);
  Packs packs;
  for (int i = 0; i < 5000; ++i) {
    ASSERT_THAT(packer.Add({0, 1500, 0, 7}, &packs), IsOk());
    // A few bytes for each of 64 pending units and the runs between them.
    ASSERT_LT(packer.Save().size(), 1500u);
  }
}

TEST(Packer, OldestPendingOrdinal) {
  PackSpec spec = Spec("spfhp", 4, 3);
  spec.overlong = Overlong::kSplit;
  spec.empty = Empty::kDrop;
  Packer packer = *Packer::Create(spec);
  Packs packs;
  EXPECT_EQ(packer.oldest_pending_ordinal(), 0u);
  ASSERT_THAT(packer.Add({0, 0}, &packs), IsOk());
  EXPECT_EQ(packer.oldest_pending_ordinal(), 2u);
  ASSERT_THAT(packer.Add({1, 0, 17}, &packs), IsOk());
  // Units: 2, and five pieces of 4; the first three are packed.
  EXPECT_EQ(packer.pending_units(), 0u);
  EXPECT_EQ(packs.ordinals.size(), 6u);
  EXPECT_EQ(packer.oldest_pending_ordinal(), 5u);
  ASSERT_THAT(packer.Add({5}, &packs), IsOk());
  EXPECT_EQ(packer.oldest_pending_ordinal(), 5u);
}

// Whatever the order, what shares a pack is the same, and a seed gives each
// window its own order.
TEST(Seed, PermutesThePacksOfEachWindow) {
  std::mt19937 random(3);
  const Lengths lengths = RandomLengths(3000, 40, &random);
  const PackSpec plain = Spec("spfhp", 50, 300);
  const Packs canonical = MustPlan(lengths, plain);
  PackSpec spec = plain;
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t seed : {0u, 1u, 2u}) {
    spec.seed = seed;
    const Packs packs = MustPlan(lengths, spec);
    ASSERT_THAT(Verify(lengths, spec, packs), IsOk());
    ASSERT_EQ(packs.size(), canonical.size());
    // Window by window the same packs.
    size_t begin = 0;
    for (uint64_t last = 300; last <= lengths.size(); last += 300) {
      size_t end = begin;
      std::multiset<std::vector<uint64_t>> shuffled;
      std::multiset<std::vector<uint64_t>> ordered;
      std::vector<uint64_t> order;
      while (end < packs.size() && canonical[end].front() < last) {
        shuffled.emplace(packs[end].begin(), packs[end].end());
        ordered.emplace(canonical[end].begin(), canonical[end].end());
        order.push_back(packs[end].front() - (last - 300));
        ++end;
      }
      ASSERT_EQ(shuffled, ordered);
      orders.insert(order);
      begin = end;
    }
  }
  EXPECT_EQ(orders.size(), 30u);  // three seeds, ten windows
  EXPECT_EQ(MustPlan(lengths, spec), MustPlan(lengths, spec));
}

// A window costs what is in it, however many there were before: this would not
// end otherwise.
TEST(Seed, ManyWindowsInOnePiece) {
  PackSpec spec = Spec("spfhp", 10, 1);
  spec.seed = 1;
  const Lengths lengths(1000000, 3);
  EXPECT_EQ(MustPlan(lengths, spec).size(), lengths.size());
}

// The longest lengths there are, and the widest window.
TEST(Packer, LargestCapacityAndWindow) {
  const uint32_t most = 2147483647;
  const PackSpec spec = Spec("lpfhp", kMaxCapacityTokens, kMaxWindowSequences,
                             kMaxSequencesPerPack);
  const Lengths lengths = {most, 1, most - 1, most / 2, most / 2};
  EXPECT_EQ(MustPlan(lengths, spec), MakePacks({{0}, {1, 2}, {3, 4}}));
  EXPECT_EQ(MustPlan(lengths, spec), NaivePlan(lengths, spec));
}

}  // namespace
}  // namespace packhouse
