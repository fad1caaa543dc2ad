#include "packhouse/plan_check.h"

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/plan.h"
#include "tests/packing/naive_packer.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using ::testing::AllOf;
using ::testing::DoubleEq;
using ::testing::HasSubstr;
using ::testing::Optional;

PackSpec Spec(int64_t capacity, int64_t alignment = 1,
              int64_t max_sequences = 0) {
  PackSpec spec;
  spec.capacity_tokens = capacity;
  spec.sequence_alignment = alignment;
  spec.max_sequences_per_pack = max_sequences;
  return spec;
}

auto Violates(const char* text) {
  return StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr(text));
}

TEST(Verify, AcceptsWhatIsLegal) {
  EXPECT_THAT(Verify({}, Spec(8), Packs()), IsOk());
  EXPECT_THAT(Verify({5, 3, 8}, Spec(8), MakePacks({{0, 1}, {2}})), IsOk());
  // Neither the rule nor the order is judged.
  EXPECT_THAT(Verify({5, 3, 8}, Spec(8), MakePacks({{2}, {1}, {0}})), IsOk());
}

TEST(Verify, FindsEachViolation) {
  const Lengths lengths = {5, 3, 8};
  EXPECT_THAT(Verify(lengths, Spec(8), MakePacks({{0, 1}})),
              Violates("ordinal 2 is in no pack"));
  EXPECT_THAT(Verify(lengths, Spec(8), MakePacks({{0, 1}, {1}, {2}})),
              Violates("pack 1 has ordinal 1, which was placed before"));
  EXPECT_THAT(Verify(lengths, Spec(8), MakePacks({{0, 1}, {2, 3}})),
              Violates("pack 1 has ordinal 3, but there are 3 sequences"));
  EXPECT_THAT(
      Verify(lengths, Spec(8), MakePacks({{0, 2}, {1}})),
      Violates("pack 0 has a footprint of 13 tokens, the capacity is 8"));
  EXPECT_THAT(Verify(lengths, Spec(8), MakePacks({{1, 0}, {2}})),
              Violates("pack 0 has ordinal 0 behind 1, they must ascend"));
  EXPECT_THAT(Verify(lengths, Spec(8), MakePacks({{0, 1}, {}, {2}})),
              Violates("pack 1 is empty"));
  EXPECT_THAT(Verify(lengths, Spec(8, 1, 1), MakePacks({{0, 1}, {2}})),
              Violates("pack 0 has 2 sequences, the limit is 1"));
  // 5 and 3 fill 8 slots, but 12 when each is rounded up to a multiple of 4.
  EXPECT_THAT(Verify(lengths, Spec(8, 4), MakePacks({{0, 1}, {2}})),
              Violates("pack 0 has a footprint of 12 tokens"));
}

TEST(Verify, RefusesColumnsThatDoNotFit) {
  Packs packs = MakePacks({{0}, {1}});
  packs.offsets.back() = 7;
  EXPECT_THAT(Verify({1, 1}, Spec(8), packs), Violates("offsets"));
  packs.offsets = {};
  EXPECT_THAT(Verify({1, 1}, Spec(8), packs), Violates("offsets"));
  packs.offsets = {0, 2, 1, 2};
  EXPECT_THAT(Verify({1, 1}, Spec(8), packs), Violates("offsets"));
}

TEST(Verify, ManyViolationsMakeAShortError) {
  EXPECT_THAT(Verify(Lengths(100000, 1), Spec(8), Packs()),
              Violates("99995 more"));
}

TEST(Verify, RefusesBadInput) {
  EXPECT_THAT(Verify({9}, Spec(8), MakePacks({{0}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("length 9 > capacity 8")));
  EXPECT_THAT(Verify({1}, Spec(0), MakePacks({{0}})),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("capacity_tokens")));
}

TEST(Summarize, CountsWhatWasWonAndLost) {
  // Footprints 8, 4, 4, 8; packs {0, 1} and {3, 2} of 12 slots.
  const Lengths lengths = {5, 3, 4, 8};
  const PackReport report =
      *Summarize(lengths, Spec(12, 4), MakePacks({{0, 1}, {2, 3}}));
  EXPECT_EQ(report.intake.sequences, 4u);
  EXPECT_EQ(report.intake.tokens, 20u);
  EXPECT_EQ(report.packs, 2u);
  EXPECT_EQ(report.slots(), 24u);
  EXPECT_EQ(report.lower_bound_packs, 2u);
  EXPECT_EQ(report.waste_alignment_tokens, 4u);
  EXPECT_EQ(report.waste_tail_tokens, 0u);
  EXPECT_EQ(report.max_displacement, 0u);
  EXPECT_EQ(report.one_per_row_slots, 48u);
  EXPECT_EQ(report.pad_to_longest_slots, 32u);
  EXPECT_THAT(report.efficiency(), Optional(DoubleEq(20.0 / 24.0)));
}

TEST(Summarize, WithoutPacksThereIsNoEfficiency) {
  const PackReport report = *Summarize({}, Spec(8), Packs());
  EXPECT_EQ(report.packs, 0u);
  EXPECT_EQ(report.efficiency(), absl::nullopt);
}

TEST(Summarize, PadsTheLastBatchToItsOwnLongest) {
  // 8 sequences padded to 9, then 2 padded to 3.
  const Lengths lengths = {1, 2, 9, 1, 1, 1, 1, 1, 3, 2};
  const PackReport report =
      *Summarize(lengths, Spec(9), *Plan(lengths, Spec(9)));
  EXPECT_EQ(report.pad_to_longest_slots, 8u * 9 + 2 * 3);
}

// Tokens and slots beyond 2^31 and 2^32 do not wrap.
TEST(Summarize, SumsBeyond32Bits) {
  const uint32_t most = 2147483647;
  const Lengths lengths(9, most);
  const PackReport report =
      *Summarize(lengths, Spec(most), *Plan(lengths, Spec(most)));
  EXPECT_EQ(report.intake.tokens, uint64_t{9} * most);
  EXPECT_EQ(report.slots(), uint64_t{9} * most);
  EXPECT_EQ(report.pad_to_longest_slots, uint64_t{9} * most);
  EXPECT_EQ(report.waste_tail_tokens, 0u);
  EXPECT_EQ(report.lower_bound_packs, 9u);
}

TEST(Summarize, RefusesBadInput) {
  EXPECT_FALSE(Summarize({9}, Spec(8), Packs()).ok());
  EXPECT_FALSE(Summarize({1}, Spec(0), Packs()).ok());
}

// The shortcut for the largest displacement against its definition, for any
// order of release.
TEST(Summarize, DisplacementEqualsItsDefinition) {
  std::mt19937 rng(3);
  for (int round = 0; round < 500; ++round) {
    const size_t n = 1 + rng() % 40;
    std::vector<uint64_t> order(n);
    for (size_t i = 0; i < n; ++i) order[i] = i;
    std::shuffle(order.begin(), order.end(), rng);
    std::vector<std::vector<uint64_t>> packs;
    for (uint64_t ordinal : order) {
      if (packs.empty() || rng() % 3 == 0) packs.emplace_back();
      packs.back().push_back(ordinal);
    }
    uint64_t expected = 0;
    std::vector<uint64_t> earlier;
    for (std::vector<uint64_t>& pack : packs) {
      std::sort(pack.begin(), pack.end());
      for (uint64_t ordinal : pack) {
        expected = std::max<uint64_t>(
            expected, std::count_if(earlier.begin(), earlier.end(),
                                    [&](uint64_t e) { return e > ordinal; }));
      }
      earlier.insert(earlier.end(), pack.begin(), pack.end());
    }
    const PackReport report =
        *Summarize(Lengths(n, 1), Spec(100), MakePacks(packs));
    ASSERT_EQ(report.max_displacement, expected);
  }
}

TEST(PackReport, MergeAddsAndTakesTheLargest) {
  PackReport a = *Summarize({5, 3, 8}, Spec(8), MakePacks({{2}, {0, 1}}));
  const PackReport b = *Summarize({5}, Spec(8), MakePacks({{0}}));
  a.Merge(b);
  EXPECT_EQ(a.intake.sequences, 4u);
  EXPECT_EQ(a.intake.tokens, 21u);
  EXPECT_EQ(a.packs, 3u);
  EXPECT_EQ(a.lower_bound_packs, 3u);
  EXPECT_EQ(a.waste_tail_tokens, 3u);
  EXPECT_EQ(a.max_displacement, 1u);
  EXPECT_EQ(a.capacity_tokens, 8u);
  EXPECT_EQ(a.one_per_row_slots, 32u);
}

TEST(Packs, AppendAndClear) {
  Packs packs = MakePacks({{0, 1}, {2}});
  packs.Append(MakePacks({{3}, {4, 5}}));
  EXPECT_EQ(packs, MakePacks({{0, 1}, {2}, {3}, {4, 5}}));
  packs.Append(Packs());
  EXPECT_EQ(packs.size(), 4u);
  packs.Clear();
  EXPECT_TRUE(packs.empty());
  EXPECT_EQ(packs, Packs());
}

// --- Policies ----------------------------------------------------------------

PackSpec PolicySpec(Overlong overlong, int64_t capacity,
                    int64_t alignment = 1) {
  PackSpec spec = Spec(capacity, alignment);
  spec.overlong = overlong;
  spec.empty = Empty::kDrop;
  return spec;
}

Packs WithOffsets(Packs packs, std::vector<uint32_t> source_offsets) {
  packs.source_offsets = std::move(source_offsets);
  return packs;
}

TEST(VerifyPolicies, Drop) {
  const PackSpec spec = PolicySpec(Overlong::kDrop, 8);
  EXPECT_THAT(Verify({3, 12, 0, 4}, spec, MakePacks({{0, 3}})), IsOk());
  EXPECT_THAT(Verify({12, 0}, spec, Packs()), IsOk());
  EXPECT_THAT(Verify({3, 12}, spec, MakePacks({{0}, {1}})),
              Violates("pack 1 has ordinal 1, which must be dropped: its "
                       "length is 12"));
  EXPECT_THAT(Verify({3, 0}, spec, MakePacks({{0, 1}})),
              Violates("ordinal 1, which must be dropped: its length is 0"));
}

TEST(VerifyPolicies, Truncate) {
  PackSpec spec = PolicySpec(Overlong::kTruncate, 9, 4);
  EXPECT_THAT(Verify({12, 3}, spec, MakePacks({{0}, {1}})), IsOk());
  EXPECT_THAT(Verify({12, 3}, spec, MakePacks({{0, 1}})),
              Violates("pack 0 has a footprint of 12 tokens"));
  EXPECT_THAT(
      Verify({12, 3}, spec, WithOffsets(MakePacks({{0}, {1}}), {4, 0})),
      Violates("ordinal 0 from token 4, where none of its pieces begins"));
  spec.overlong = Overlong::kTruncateHead;
  EXPECT_THAT(Verify({12, 3}, spec, WithOffsets(MakePacks({{0}, {1}}), {4, 0})),
              IsOk());
  EXPECT_THAT(Verify({12, 3}, spec, MakePacks({{0}, {1}})),
              Violates("ordinal 0 from token 0, where none of its pieces"));
}

TEST(VerifyPolicies, Split) {
  const PackSpec spec = PolicySpec(Overlong::kSplit, 10);
  const auto verify = [&](const std::vector<std::vector<uint64_t>>& packs,
                          std::vector<uint32_t> offsets) {
    return Verify({25, 5}, spec,
                  WithOffsets(MakePacks(packs), std::move(offsets)));
  };
  EXPECT_THAT(verify({{0}, {0}, {0, 1}}, {0, 10, 20, 0}), IsOk());
  EXPECT_THAT(verify({{0}, {0, 1}}, {0, 20, 0}),
              Violates("ordinal 0 from token 10 is in no pack"));
  EXPECT_THAT(verify({{0}, {0}, {0, 1}}, {0, 0, 20, 0}),
              Violates("ordinal 0 from token 0, which was placed before"));
  EXPECT_THAT(verify({{0}, {0}, {0, 1}}, {0, 11, 20, 0}),
              Violates("ordinal 0 from token 11, where none of its pieces"));
  EXPECT_THAT(verify({{0}, {0}, {0, 1}}, {0, 10, 30, 0}),
              Violates("ordinal 0 from token 30, where none of its pieces"));
  EXPECT_THAT(verify({{0}, {0}, {0}, {1}}, {0, 10, 20, 1}),
              Violates("ordinal 1 from token 1, where none of its pieces"));
  EXPECT_THAT(
      verify({{0, 0}, {0, 1}}, {10, 0, 20, 0}),
      Violates("ordinal 0 from token 0 behind ordinal 0 from token 10"));
  EXPECT_THAT(verify({{0}, {0}, {0, 1}}, {0, 10, 20}),
              Violates("there are 3 source offsets for 4 ordinals"));
}

// Each kind of damage to a legal plan is found.
TEST(VerifyPolicies, FindsAnyMisplacedUnit) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    PackSpec spec =
        PolicySpec(static_cast<Overlong>(1 + random() % 4), 4 + random() % 20);
    Lengths lengths(1 + random() % 30);
    for (uint32_t& length : lengths) length = random() % 60;
    const Packs packs = *Plan(lengths, spec);
    ASSERT_THAT(Verify(lengths, spec, packs), IsOk());
    if (packs.empty()) continue;
    Packs damaged = packs;
    damaged.source_offsets.resize(packs.ordinals.size());
    const size_t at = random() % packs.ordinals.size();
    if (random() % 2 == 0) {
      damaged.source_offsets[at] += 1 + random() % 3;
    } else {
      damaged.ordinals[at] += 1;
    }
    EXPECT_THAT(Verify(lengths, spec, damaged),
                StatusIs(absl::StatusCode::kFailedPrecondition, testing::_));
  }
}

TEST(VerifyPolicies, AgeBoundOfSliding) {
  PackSpec spec = Spec(10);
  spec.algorithm = "sliding";
  spec.max_displacement = 2;
  const Lengths lengths = {5, 5, 5, 5};
  EXPECT_THAT(Verify(lengths, spec, MakePacks({{1, 2}, {0, 3}})), IsOk());
  EXPECT_THAT(
      Verify(lengths, spec, MakePacks({{1, 2}, {3}, {0}})),
      Violates("pack 2 comes when ordinal 0 has let 3 later ones pass, the "
               "limit is 2"));
  spec.max_displacement = 3;
  EXPECT_THAT(Verify(lengths, spec, MakePacks({{1, 2}, {3}, {0}})), IsOk());
}

// Displacement by its definition, pair by pair.
TEST(Summarize, DisplacementCountsUnitsOfLaterSequences) {
  std::mt19937 random(12);
  for (int round = 0; round < 200; ++round) {
    PackSpec spec =
        PolicySpec(static_cast<Overlong>(1 + random() % 4), 4 + random() % 20);
    spec.window_sequences = 1 + random() % 20;
    spec.seed = random();
    Lengths lengths(random() % 60);
    for (uint32_t& length : lengths) length = random() % 70;
    const Packs packs = *Plan(lengths, spec);
    uint64_t expected = 0;
    for (size_t i = 0; i < packs.size(); ++i) {
      for (const uint64_t ordinal : packs[i]) {
        uint64_t later = 0;
        for (uint64_t at = 0; at < packs.offsets[i]; ++at) {
          if (packs.ordinals[at] > ordinal) ++later;
        }
        expected = std::max(expected, later);
      }
    }
    const absl::StatusOr<PackReport> report = Summarize(lengths, spec, packs);
    ASSERT_THAT(report, IsOk());
    ASSERT_EQ(report->max_displacement, expected) << round;
    // Padding takes what is packed, eight units at a time.
    uint64_t padded = 0;
    const std::vector<NaiveUnit> units = NaiveUnits(lengths, spec);
    for (size_t begin = 0; begin < units.size(); begin += 8) {
      const size_t end = std::min(units.size(), begin + 8);
      int64_t longest = 0;
      for (size_t i = begin; i < end; ++i) {
        longest = std::max(longest, units[i].tokens);
      }
      padded += longest * (end - begin);
    }
    EXPECT_EQ(report->pad_to_longest_slots, padded);
    EXPECT_EQ(report->waste_tail_tokens + report->waste_alignment_tokens +
                  report->intake.packed_tokens,
              report->slots());
  }
}

}  // namespace
}  // namespace packhouse
