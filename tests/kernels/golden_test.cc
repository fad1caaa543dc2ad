// Values that were worked out by hand or read from what consumers build
// themselves, so that the oracle is not the only witness.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "packhouse/fill.h"
#include "tests/kernels/test_batch.h"

namespace packhouse {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;

Values Get(const BatchLayout& layout, Format format,
           const FormatOptions& options = {}, const Sources& sources = {}) {
  const absl::StatusOr<FormatShape> shape = ShapeOf(format, layout, options);
  EXPECT_TRUE(shape.ok()) << shape.status();
  if (!shape.ok()) return {};
  const Memory memory(shape->dtypes.front(), shape->shape);
  const absl::Status status =
      Fill(layout, options, sources, {{format, memory.tensor()}});
  EXPECT_TRUE(status.ok()) << status;
  return memory.values();
}

BatchLayout Layout(int64_t row_tokens, const Rows& rows,
                   PadMode mode = PadMode::kSegment, int64_t alignment = 1,
                   bool flat = false) {
  LayoutSpec spec;
  spec.row_tokens = row_tokens;
  spec.pad_mode = mode;
  spec.alignment = alignment;
  spec.flat = flat;
  return *LayoutOf(spec, rows);
}

FormatOptions WithMask(MaskKind kind, int32_t window = 0) {
  FormatOptions options;
  options.mask = {kind, window};
  return options;
}

// Two packs of 12: one of 5 and 3, one of 12.
const Rows kTwo = {{5, 3}, {12}};

TEST(GoldenTest, Offsets) {
  const BatchLayout layout = Layout(12, kTwo);
  EXPECT_THAT(Get(layout, Format::kCuSeqlens), ElementsAre(0, 5, 8, 12, 24));
  EXPECT_EQ(layout.max_segment(), 12);
  FormatOptions options;
  options.max_segments = 8;
  EXPECT_THAT(Get(layout, Format::kCuSeqlens, options),
              ElementsAre(0, 5, 8, 12, 24, 24, 24, 24, 24));
  EXPECT_THAT(Get(layout, Format::kDocLens), ElementsAre(5, 3, 4, 12, 0, 0));
  EXPECT_THAT(Get(layout, Format::kRowCuSeqlens),
              ElementsAre(0, 5, 8, 12, 0, 12, 12, 12));
  const Values lengths = Get(layout, Format::kSequenceLengths);
  EXPECT_THAT(Values(lengths.begin(), lengths.begin() + 12),
              ElementsAre(5, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(lengths[12], 12);

  const BatchLayout trimmed = Layout(12, kTwo, PadMode::kTrim);
  EXPECT_THAT(Get(trimmed, Format::kCuSeqlens), ElementsAre(0, 5, 8, 20));

  // Unpadding a padded batch.
  const BatchLayout masked = Layout(12, kTwo, PadMode::kMasked);
  EXPECT_THAT(Get(masked, Format::kCuSeqlens), ElementsAre(0, 5, 8, 20));
  EXPECT_THAT(Get(masked, Format::kUnpadIndices),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 12, 13, 14, 15, 16, 17, 18,
                          19, 20, 21, 22, 23));
}

TEST(GoldenTest, TokensOfTheFirstPack) {
  const BatchLayout layout = Layout(12, {{5, 3}});
  EXPECT_THAT(Get(layout, Format::kPositionIds),
              ElementsAre(0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3));
  EXPECT_THAT(Get(layout, Format::kSegmentIds),
              ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2));
  EXPECT_THAT(Get(layout, Format::kSequenceIds),
              ElementsAre(1, 1, 1, 1, 1, 2, 2, 2, 0, 0, 0, 0));
  EXPECT_THAT(Get(layout, Format::kSeqIdx),
              ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, -1, -1, -1, -1));
  EXPECT_THAT(Get(layout, Format::kKvStart),
              ElementsAre(0, 0, 0, 0, 0, 5, 5, 5, 8, 8, 8, 8));
  EXPECT_THAT(Get(layout, Format::kKvEnd, WithMask(MaskKind::kDocument)),
              ElementsAre(5, 5, 5, 5, 5, 8, 8, 8, 12, 12, 12, 12));
  EXPECT_THAT(Get(layout, Format::kFlashMask),
              ElementsAre(5, 5, 5, 5, 5, 8, 8, 8, 12, 12, 12, 12));
  EXPECT_THAT(
      Get(layout, Format::kFlashMask, WithMask(MaskKind::kCausalWindow, 3)),
      ElementsAre(3, 4, 5, 5, 5, 8, 8, 8, 11, 12, 12, 12));
}

TEST(GoldenTest, Labels) {
  const BatchLayout layout = Layout(12, {{5, 3}});
  std::vector<int32_t> ids(8);
  std::iota(ids.begin(), ids.end(), 10);
  Sources sources;
  sources.tokens = SourceOf(&ids);
  FormatOptions options;
  EXPECT_THAT(
      Get(layout, Format::kLabels, options, sources),
      ElementsAre(-100, 11, 12, 13, 14, -100, 16, 17, -100, -100, -100, -100));
  EXPECT_THAT(Get(layout, Format::kTargets, options, sources),
              ElementsAre(4, 2));
  options.label_shift = LabelShift::kShifted;
  EXPECT_THAT(
      Get(layout, Format::kLabels, options, sources),
      ElementsAre(11, 12, 13, 14, -100, 16, 17, -100, -100, -100, -100, -100));
  EXPECT_THAT(Get(layout, Format::kTargets, options, sources),
              ElementsAre(4, 2));
  options.label_shift = LabelShift::kNone;
  EXPECT_THAT(
      Get(layout, Format::kLabels, options, sources),
      ElementsAre(10, 11, 12, 13, 14, 15, 16, 17, -100, -100, -100, -100));
  EXPECT_THAT(Get(layout, Format::kInputIds, options, sources),
              ElementsAre(10, 11, 12, 13, 14, 15, 16, 17, 0, 0, 0, 0));
}

TEST(GoldenTest, ChunksOfLinearAttention) {
  FormatOptions options;
  options.chunk_tokens = 4;
  const BatchLayout layout = Layout(12, kTwo, PadMode::kTrim);
  EXPECT_THAT(Get(layout, Format::kChunkOffsets, options),
              ElementsAre(0, 2, 3, 6));
  const BatchLayout padded = Layout(12, kTwo, PadMode::kSegment, 1, true);
  EXPECT_THAT(Get(padded, Format::kChunkIndices, options),
              ElementsAre(0, 0, 0, 1, 1, 0, 2, 0, 3, 0, 3, 1, 3, 2));
  EXPECT_THAT(Get(padded, Format::kChunkOffsets, options),
              ElementsAre(0, 2, 3, 4, 7));
}

TEST(GoldenTest, PackedMask) {
  const BatchLayout layout = Layout(8, {{5, 3}});
  EXPECT_THAT(Get(layout, Format::kPackedMask),
              ElementsAre(0x61, 0x9c, 0xf7, 0x01, 0xd9, 0x01));
  EXPECT_THAT(Get(layout, Format::kPackedMaskIndptr), ElementsAre(0, 4, 6));
}

// Four tables as counts and rows of digits.
std::string Tables(const BatchLayout& layout, FormatOptions options) {
  options.blocks = {4, 4, false};
  std::string text;
  for (int f = static_cast<int>(Format::kKvNumBlocks);
       f <= static_cast<int>(Format::kFullQIndices); f += 2) {
    const Values counts = Get(layout, static_cast<Format>(f), options);
    const Values indices = Get(layout, static_cast<Format>(f + 1), options);
    absl::StrAppend(&text, text.empty() ? "" : " | ",
                    absl::StrJoin(counts, ","), ":");
    for (size_t i = 0; i < indices.size(); ++i) {
      absl::StrAppend(&text, i % 3 == 0 ? " " : "", indices[i]);
    }
  }
  return text;
}

TEST(GoldenTest, BlockMask) {
  const BatchLayout first = Layout(12, {{5, 3}});
  const BatchLayout second = Layout(12, {{12}});
  const BatchLayout masked = Layout(12, {{5, 3}}, PadMode::kMasked);
  const FormatOptions causal = WithMask(MaskKind::kCausal);
  const FormatOptions both = WithMask(MaskKind::kDocument);
  const FormatOptions window = WithMask(MaskKind::kCausalWindow, 3);
  EXPECT_EQ(Tables(first, causal),
            "1,2,1: 012 012 201 | 0,0,0: 012 012 012 | 2,1,1: 012 102 201 | "
            "0,0,0: 012 012 012");
  EXPECT_EQ(Tables(first, both),
            "1,2,0: 102 012 012 | 1,0,1: 012 012 201 | 1,2,0: 102 012 012 | "
            "1,0,1: 012 012 201");
  EXPECT_EQ(Tables(first, window),
            "1,2,1: 012 012 201 | 0,0,0: 012 012 012 | 2,1,1: 012 102 201 | "
            "0,0,0: 012 012 012");
  EXPECT_EQ(Tables(masked, causal),
            "1,2,0: 012 012 012 | 0,0,0: 012 012 012 | 2,1,0: 012 102 012 | "
            "0,0,0: 012 012 012");
  EXPECT_EQ(Tables(second, causal),
            "1,1,1: 012 102 201 | 0,1,2: 012 012 012 | 1,1,1: 012 102 201 | "
            "2,1,0: 120 201 012");
  EXPECT_EQ(Tables(second, both),
            "0,0,0: 012 012 012 | 3,3,3: 012 012 012 | 0,0,0: 012 012 012 | "
            "3,3,3: 012 012 012");
  EXPECT_EQ(Tables(second, window),
            "1,2,2: 012 012 120 | 0,0,0: 012 012 012 | 2,2,1: 012 120 201 | "
            "0,0,0: 012 012 012");
}

// Blocks of 128 under a causal document mask: (partial, full) of each row.
TEST(GoldenTest, CountsOfBlocksOf128) {
  const auto counts = [](const std::vector<uint32_t>& lengths) {
    const int64_t tokens =
        std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
    const BatchLayout layout = Layout(tokens, {lengths});
    return std::make_pair(Get(layout, Format::kKvNumBlocks),
                          Get(layout, Format::kFullKvNumBlocks));
  };
  using Pair = std::pair<Values, Values>;
  EXPECT_EQ(counts({100, 156}), Pair({1, 2}, {0, 0}));
  EXPECT_EQ(counts({128, 128}), Pair({1, 1}, {0, 0}));
  EXPECT_EQ(counts({256}), Pair({1, 1}, {0, 1}));
  EXPECT_EQ(counts({384}), Pair({1, 1, 1}, {0, 1, 2}));
  EXPECT_EQ(counts({256, 128}), Pair({1, 1, 1}, {0, 1, 0}));
  EXPECT_EQ(counts({130}), Pair({1, 2}, {0, 0}));
}

TEST(GoldenTest, QueryAndKeyBlocksAreNotSwapped) {
  const BatchLayout layout = Layout(256, {{256}});
  FormatOptions options;
  options.blocks = {64, 128, false};
  EXPECT_EQ(ShapeOf(Format::kKvIndices, layout, options)->shape,
            (std::vector<int64_t>{1, 1, 4, 2}));
  EXPECT_EQ(ShapeOf(Format::kQIndices, layout, options)->shape,
            (std::vector<int64_t>{1, 1, 2, 4}));
}

TEST(GoldenTest, ContextParallelShares) {
  const BatchLayout layout = Layout(40, {{8, 8, 8, 16}});
  FormatOptions options;
  options.cp_ranks = 4;
  EXPECT_THAT(Get(layout, Format::kCpIndices, options),
              ElementsAre(0, 7, 8, 15, 16, 23, 24, 25, 38, 39,  //
                          1, 6, 9, 14, 17, 22, 26, 27, 36, 37,  //
                          2, 5, 10, 13, 18, 21, 28, 29, 34, 35, 3, 4, 11, 12,
                          19, 20, 30, 31, 32, 33));
}

TEST(GoldenTest, SlotsOfUnevenLengths) {
  // Two ranks, 5 and 7: slots of 8.
  BatchLayout layout = Layout(16, {{5, 7}}, PadMode::kSlots, 4);
  EXPECT_THAT(Get(layout, Format::kCuSeqlensPadded), ElementsAre(0, 8, 16));
  EXPECT_THAT(Get(layout, Format::kCuSeqlens), ElementsAre(0, 5, 12));
  EXPECT_THAT(Get(layout, Format::kSeqUsed), ElementsAre(5, 7));
  FormatOptions options;
  options.cp_ranks = 2;
  EXPECT_EQ(ShapeOf(Format::kCpIndices, layout, options)->shape,
            (std::vector<int64_t>{2, 8}));

  // A tail belongs to the last slot.
  layout = Layout(16, {{5, 3}}, PadMode::kSlots, 4);
  EXPECT_THAT(Get(layout, Format::kCuSeqlens), ElementsAre(0, 5, 8));
  EXPECT_THAT(Get(layout, Format::kCuSeqlensPadded), ElementsAre(0, 8, 16));
  EXPECT_THAT(Get(layout, Format::kPositionIds),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7));

  layout = Layout(24, {{3, 9}}, PadMode::kSlots, 8);
  EXPECT_EQ(layout.max_slot(), 16);
  EXPECT_EQ(layout.max_sequence(), 9);
}

TEST(GoldenTest, TwoPaddedRowsAsOne) {
  // Rows of 5: 3 and 2; 4 and one of padding.
  const BatchLayout layout =
      Layout(5, {{3, 2}, {4}}, PadMode::kSegment, 1, true);
  EXPECT_THAT(Get(layout, Format::kPositionIds),
              ElementsAre(0, 1, 2, 0, 1, 0, 1, 2, 3, 0));
  EXPECT_THAT(Get(layout, Format::kCuSeqlens), ElementsAre(0, 3, 5, 9, 10));
  EXPECT_EQ(layout.sequences(), 3);
}

TEST(GoldenTest, PaddingIsNoDocument) {
  const BatchLayout layout = Layout(8, {{3, 2}});
  EXPECT_THAT(Get(layout, Format::kPositionIds),
              ElementsAre(0, 1, 2, 0, 1, 0, 1, 2));
  EXPECT_THAT(Get(layout, Format::kCuSeqlens), ElementsAre(0, 3, 5, 8));
  EXPECT_EQ(layout.max_sequence(), 3);
  EXPECT_EQ(layout.sequences(), 2);
  EXPECT_THAT(Get(layout, Format::kSequenceTokens), ElementsAre(3, 2));
  EXPECT_THAT(Get(layout, Format::kSequencesPerRow), ElementsAre(2));
  const BatchLayout singletons = Layout(8, {{3, 2}}, PadMode::kSingletons);
  EXPECT_THAT(Get(singletons, Format::kCuSeqlens),
              ElementsAre(0, 3, 5, 6, 7, 8));
  const BatchLayout merged = Layout(8, {{3, 2}}, PadMode::kMergeLast);
  EXPECT_THAT(Get(merged, Format::kCuSeqlens), ElementsAre(0, 3, 8));
}

TEST(GoldenTest, PositionsThatBeginAtTwo) {
  FormatOptions options;
  options.position_start = 2;
  const BatchLayout layout = Layout(5, {{3, 2}});
  EXPECT_THAT(Get(layout, Format::kPositionIds, options),
              ElementsAre(2, 3, 4, 2, 3));
  EXPECT_THAT(Get(layout, Format::kCuSeqlens, options), ElementsAre(0, 3, 5));
}

// Numbers of different sequences differ as integers, not as truth values.
TEST(GoldenTest, SequenceIdsAreNumbers) {
  EXPECT_THAT(Get(Layout(6, {{2, 2, 2}}), Format::kSequenceIds),
              ElementsAre(1, 1, 2, 2, 3, 3));
}

// A causal mask of 3 and 2 allows 6 + 3 pairs; without isolation it were 15.
TEST(GoldenTest, DenseMask) {
  const Values mask = Get(Layout(5, {{3, 2}}), Format::kDenseMask);
  EXPECT_EQ(std::accumulate(mask.begin(), mask.end(), int64_t{0}), 9);
  EXPECT_EQ(mask[3 * 5 + 2], 0);
}

// No row of a mask is empty unless that is asked for.
TEST(GoldenTest, PaddingSeesItself) {
  for (PadMode mode : {PadMode::kSegment, PadMode::kMasked, PadMode::kSlots,
                       PadMode::kSingletons, PadMode::kMergeLast}) {
    const Values mask = Get(Layout(5, {{3}}, mode), Format::kDenseMask);
    for (int q = 0; q < 5; ++q) EXPECT_EQ(mask[q * 5 + q], 1) << q;
  }
  FormatOptions options;
  options.dense.empty_rows = true;
  const Values mask =
      Get(Layout(5, {{3}}, PadMode::kMasked), Format::kDenseMask, options);
  EXPECT_THAT(Values(mask.begin() + 15, mask.end()),
              ElementsAreArray(Values(10, 0)));
}

// A pack without sequences is one segment of padding.
TEST(GoldenTest, Filler) {
  for (int mode = 0; mode < 6; ++mode) {
    if (static_cast<PadMode>(mode) == PadMode::kSingletons) continue;
    const BatchLayout layout = Layout(4, {{}}, static_cast<PadMode>(mode));
    EXPECT_THAT(Get(layout, Format::kCuSeqlens), ElementsAre(0, 4)) << mode;
    EXPECT_THAT(Get(layout, Format::kLossMask), ElementsAre(0, 0, 0, 0));
    EXPECT_EQ(layout.sequences(), 0);
  }
}

}  // namespace
}  // namespace packhouse
