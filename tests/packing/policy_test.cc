#include "packhouse/policy.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/packing/naive_packer.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using ::testing::HasSubstr;

PackSpec Spec(Overlong overlong, int64_t capacity, int64_t alignment = 1) {
  PackSpec spec;
  spec.capacity_tokens = capacity;
  spec.sequence_alignment = alignment;
  spec.overlong = overlong;
  spec.empty = Empty::kDrop;
  return spec;
}

constexpr Overlong kPolicies[] = {Overlong::kDrop, Overlong::kTruncate,
                                  Overlong::kTruncateHead, Overlong::kSplit};

// Every length at every small capacity and alignment, against the definition.
TEST(Policy, UnitsAreThoseOfTheDefinition) {
  for (const Overlong overlong : kPolicies) {
    for (int64_t capacity = 1; capacity <= 12; ++capacity) {
      for (int64_t alignment = 1; alignment <= capacity; ++alignment) {
        const PackSpec spec = Spec(overlong, capacity, alignment);
        for (uint32_t length = 0; length <= 40; ++length) {
          const std::vector<NaiveUnit> units = NaiveUnits({length}, spec);
          ASSERT_EQ(UnitCount(spec, length), units.size());
          uint64_t packed = 0;
          for (uint32_t i = 0; i < units.size(); ++i) {
            const uint32_t offset = UnitOffset(spec, length, i);
            ASSERT_EQ(offset, units[i].source_offset);
            ASSERT_EQ(UnitTokens(spec, length, offset), units[i].tokens);
            packed += units[i].tokens;
          }
          const std::vector<Fate> fates = Fates(spec, {length}, 7);
          const bool whole = units.size() == 1 && packed == length;
          ASSERT_EQ(fates.size(), whole ? 0u : 1u);
          if (whole) continue;
          EXPECT_EQ(fates[0].ordinal, 7u);
          EXPECT_EQ(fates[0].length, length);
          EXPECT_EQ(fates[0].packed_tokens, packed);
          EXPECT_EQ(fates[0].units, units.size());
          const Fate::Kind kind = length == 0       ? Fate::Kind::kEmpty
                                  : units.empty()   ? Fate::Kind::kDropped
                                  : packed < length ? Fate::Kind::kTruncated
                                                    : Fate::Kind::kSplit;
          EXPECT_EQ(fates[0].kind, kind);
        }
      }
    }
  }
}

TEST(Policy, CountsAddUp) {
  std::mt19937 random(5);
  for (int round = 0; round < 400; ++round) {
    const PackSpec spec = Spec(kPolicies[random() % 4], 1 + random() % 40, 1);
    PackSpec aligned = spec;
    aligned.sequence_alignment = 1 + random() % spec.capacity_tokens;
    Lengths lengths(random() % 50);
    for (uint32_t& length : lengths) length = random() % 100;
    const IntakeCounts counts = CountIntake(aligned, lengths);
    uint64_t tokens = 0, packed = 0, footprints = 0;
    for (const uint32_t length : lengths) tokens += length;
    const std::vector<NaiveUnit> units = NaiveUnits(lengths, aligned);
    for (const NaiveUnit& unit : units) {
      packed += unit.tokens;
      footprints += Footprint(aligned, unit.tokens);
    }
    uint64_t kinds[4] = {};
    for (const Fate& fate : Fates(aligned, lengths, 0)) {
      ++kinds[static_cast<int>(fate.kind)];
    }
    EXPECT_EQ(counts.sequences, lengths.size());
    EXPECT_EQ(counts.tokens, tokens);
    EXPECT_EQ(counts.units, units.size());
    EXPECT_EQ(counts.packed_tokens, packed);
    EXPECT_EQ(counts.footprint_tokens, footprints);
    EXPECT_EQ(counts.empty_sequences, kinds[0]);
    EXPECT_EQ(counts.dropped_sequences, kinds[1]);
    EXPECT_EQ(counts.truncated_sequences, kinds[2]);
    EXPECT_EQ(counts.split_sequences, kinds[3]);
    EXPECT_EQ(counts.tokens, counts.packed_tokens + counts.truncated_tokens +
                                 counts.dropped_tokens);
    EXPECT_EQ(counts.units, counts.sequences - counts.dropped_sequences -
                                counts.empty_sequences + counts.extra_pieces);
  }
}

// The sum without a division per length, where rounding could betray it.
TEST(Policy, FootprintsAreExactAtTheEdges) {
  for (const int64_t alignment :
       {int64_t{1}, int64_t{2}, int64_t{3}, int64_t{7}, int64_t{16},
        int64_t{1000003}, kMaxCapacityTokens}) {
    const PackSpec spec = Spec(Overlong::kDrop, kMaxCapacityTokens, alignment);
    const uint32_t longest = LongestPiece(spec);
    for (const uint32_t base :
         {1u, 2u, static_cast<uint32_t>(alignment), longest / 2, longest}) {
      for (const int64_t delta : {-1, 0, 1}) {
        const int64_t length = base + delta;
        if (length < 1 || length > longest) continue;
        const uint32_t value = static_cast<uint32_t>(length);
        EXPECT_EQ(CountIntake(spec, {value}).footprint_tokens,
                  Footprint(spec, value))
            << value << " aligned to " << alignment;
      }
    }
  }
}

TEST(Policy, RefusesTooManyPieces) {
  const PackSpec spec = Spec(Overlong::kSplit, 1);
  EXPECT_THAT(CheckLengths(spec, {65536}, 0), IsOk());
  EXPECT_EQ(UnitCount(spec, 65536), 65536u);
  EXPECT_THAT(
      CheckLengths(spec, {1, 65537}, 10),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr("ordinal 11 has length 65537, more than 65536 pieces "
                         "of 1 tokens")));
  // Other policies take any length there is.
  EXPECT_THAT(CheckLengths(Spec(Overlong::kTruncate, 1), {~0u, 0}, 0), IsOk());
  EXPECT_EQ(UnitOffset(Spec(Overlong::kTruncateHead, 10), ~0u, 0), ~0u - 10);
  EXPECT_EQ(UnitCount(Spec(Overlong::kSplit, kMaxCapacityTokens), ~0u), 3u);
}

}  // namespace
}  // namespace packhouse
