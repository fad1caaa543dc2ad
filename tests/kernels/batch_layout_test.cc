#include "packhouse/batch_layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/kernels/oracle.h"
#include "tests/kernels/test_batch.h"

namespace packhouse {
namespace {

using ::testing::HasSubstr;

TEST(BatchLayoutTest, ScalarsOfRandomBatches) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    const TestBatch batch = BatchMaker(seed).Any(40);
    const BatchLayout layout = *LayoutOf(batch.spec, batch.rows, batch.origins);
    const Oracle oracle(batch.spec, batch.rows, batch.origins);
    SCOPED_TRACE(batch.text());
    ASSERT_EQ(layout.tokens(), oracle.size());
    ASSERT_EQ(layout.rows(), oracle.rows());
    ASSERT_EQ(layout.row_tokens(), oracle.row_tokens());
    ASSERT_EQ(layout.packs(), static_cast<int64_t>(batch.rows.size()));

    int64_t real = 0, attended = 0, max_position = 0;
    for (int t = 0; t < oracle.size(); ++t) {
      real += oracle[t].sequence >= 0;
      attended += oracle[t].attends;
      max_position = std::max(max_position, oracle[t].position);
    }
    ASSERT_EQ(layout.sequence_tokens(), real);
    ASSERT_EQ(layout.attended_tokens(), attended);
    ASSERT_EQ(layout.max_position(), max_position);

    int64_t max_segment = 0, min_segment = INT64_MAX, max_slot = 0;
    std::vector<int64_t> row_segments(oracle.rows());
    for (const auto& segment : oracle.Segments()) {
      int64_t attends = 0;
      for (int t : segment) attends += oracle[t].attends;
      max_segment = std::max(max_segment, attends);
      min_segment = std::min(min_segment, attends);
      max_slot = std::max<int64_t>(max_slot, segment.size());
      ++row_segments[segment.front() / oracle.row_tokens()];
    }
    ASSERT_EQ(layout.segments(),
              static_cast<int64_t>(oracle.Segments().size()));
    ASSERT_EQ(layout.max_segment(), max_segment);
    ASSERT_EQ(layout.min_segment(), min_segment);
    ASSERT_EQ(layout.max_slot(), max_slot);
    ASSERT_EQ(layout.max_row_segments(),
              *std::max_element(row_segments.begin(), row_segments.end()));

    int64_t longest = 0, shortest = INT64_MAX;
    std::vector<int64_t> row_sequences(oracle.rows());
    for (const auto& sequence : oracle.Sequences()) {
      longest = std::max<int64_t>(longest, sequence.size());
      shortest = std::min<int64_t>(shortest, sequence.size());
      ++row_sequences[sequence.front() / oracle.row_tokens()];
    }
    ASSERT_EQ(layout.sequences(),
              static_cast<int64_t>(oracle.Sequences().size()));
    ASSERT_EQ(layout.max_sequence(), longest);
    ASSERT_EQ(layout.min_sequence(), longest == 0 ? 0 : shortest);
    ASSERT_EQ(layout.max_row_sequences(),
              *std::max_element(row_sequences.begin(), row_sequences.end()));
  }
}

void ExpectRefused(const LayoutSpec& spec, const Rows& rows,
                   const std::string& text,
                   const std::vector<uint32_t>& origins = {}) {
  const absl::Status status = LayoutOf(spec, rows, origins).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  EXPECT_LT(status.message().size(), 300u);
}

TEST(BatchLayoutTest, RowsThatDoNotFit) {
  ExpectRefused(RowsOf(12), {{12}, {5, 3, 5}},
                "row 1 has 13 tokens in 3 sequences, row_tokens is 12");
  LayoutSpec aligned;
  aligned.row_tokens = 12;
  aligned.alignment = 8;
  ExpectRefused(aligned, {{5, 5}},
                "row 0 has 13 tokens in 2 sequences at multiples of 8");
  ExpectRefused(RowsOf(12), {{3, 0, 2}}, "row 0: sequence 1 has length 0");
  ExpectRefused(RowsOf(12), {{UINT32_MAX, UINT32_MAX}},
                "row 0 has 8589934590 tokens");
}

TEST(BatchLayoutTest, Settings) {
  ExpectRefused({}, {{1}}, "row_tokens is 0");
  ExpectRefused(RowsOf(-1), {{1}}, "row_tokens is -1");
  ExpectRefused(RowsOf(12), {}, "at least one row");
  LayoutSpec spec;
  spec.row_tokens = 12;
  spec.alignment = 0;
  ExpectRefused(spec, {{1}}, "alignment is 0");
  spec.alignment = 4;
  spec.pad_mode = PadMode::kTrim;
  ExpectRefused(spec, {{1}}, "alignment is 4, pad_mode trim");
  spec.pad_mode = static_cast<PadMode>(6);
  ExpectRefused(spec, {{1}}, "pad_mode is number 6");
  ExpectRefused(RowsOf(12), {{1, 2}}, "1 origins for 2 lengths", {0});
  ExpectRefused(RowsOf(12), {{1}}, "has origin 4294967295", {UINT32_MAX});
}

TEST(BatchLayoutTest, Offsets) {
  const std::vector<uint32_t> lengths = {1, 2, 3};
  const auto refused = [&](const std::vector<uint64_t>& offsets) {
    return std::string(
        BatchLayout::Make(RowsOf(12), lengths, offsets).status().message());
  };
  EXPECT_THAT(refused({0, 2}),
              HasSubstr("from 0 to 2, they must be from 0 to 3"));
  EXPECT_THAT(refused({1, 3}), HasSubstr("from 1 to 3"));
  EXPECT_THAT(refused({0, 5, 3}), HasSubstr("row 1 descend from 5 to 3"));
  EXPECT_THAT(refused({0}), HasSubstr("at least one row"));
}

// 32-bit offsets reach 2^31 - 1 tokens: the last is right, one more is refused.
TEST(BatchLayoutTest, OffsetsDoNotWrap) {
  LayoutSpec spec;
  spec.row_tokens = 1 << 30;
  spec.pad_mode = PadMode::kTrim;
  const BatchLayout layout = *LayoutOf(spec, {{1u << 30}, {(1u << 30) - 1}});
  const Memory offsets(DType::kInt32, {3});
  ASSERT_TRUE(
      Fill(layout, {}, {}, {{Format::kCuSeqlens, offsets.tensor()}}).ok());
  EXPECT_EQ(offsets.values(), (Values{0, 1 << 30, 2'147'483'647}));
  ExpectRefused(spec, {{1u << 30}, {1u << 30}}, "2147483647");
}

// The last position of the last token may be the largest that there is.
TEST(BatchLayoutTest, LargestPositions) {
  LayoutSpec spec;
  spec.row_tokens = 10;
  for (int i = 0; i < 6; ++i) {
    spec.pad_mode = static_cast<PadMode>(i);
    const bool runs_on = spec.pad_mode == PadMode::kMergeLast ||
                         spec.pad_mode == PadMode::kSlots;
    const uint32_t most = kMaxBatchTokens - (runs_on ? 10 : 4);
    const absl::StatusOr<BatchLayout> layout = LayoutOf(spec, {{4}}, {most});
    ASSERT_TRUE(layout.ok()) << layout.status();
    EXPECT_EQ(layout->max_position(), kMaxBatchTokens - 1);
    const absl::Status status = LayoutOf(spec, {{4}}, {most + 1}).status();
    EXPECT_THAT(std::string(status.message()),
                HasSubstr(absl::StrCat("origin ", most + 1)));
    EXPECT_FALSE(LayoutOf(spec, {{4}}, {UINT32_MAX}).ok());
  }
}

TEST(BatchLayoutTest, TrimmedToAMultiple) {
  LayoutSpec spec;
  spec.row_tokens = 8;
  spec.pad_mode = PadMode::kTrim;
  spec.trim_multiple = 16;
  const BatchLayout layout = *LayoutOf(spec, {{5, 3}, {6}, {4}});
  EXPECT_EQ(layout.row_tokens(), 32);
  EXPECT_EQ(layout.segments(), 5);
  EXPECT_EQ(layout.sequences(), 4);
  EXPECT_EQ(LayoutOf(spec, {{8}, {8}})->segments(), 2);
  spec.trim_multiple = 0;
  ExpectRefused(spec, {{5}}, "trim_multiple is 0");
  spec.trim_multiple = kMaxBatchTokens;
  EXPECT_EQ(LayoutOf(spec, {{5}})->tokens(), kMaxBatchTokens);
  spec.trim_multiple = 1 << 30;
  spec.row_tokens = 1 << 30;
  ExpectRefused(spec, {{1 << 30}, {5}}, "32-bit offsets");
}

// Many segments: no grid or 16-bit number limits them.
TEST(BatchLayoutTest, SeventyThousandSegments) {
  LayoutSpec spec;
  spec.row_tokens = 70'000;
  const BatchLayout layout =
      *LayoutOf(spec, {std::vector<uint32_t>(70'000, 1)});
  const Memory offsets(DType::kInt32, {70'001});
  ASSERT_TRUE(
      Fill(layout, {}, {}, {{Format::kCuSeqlens, offsets.tensor()}}).ok());
  EXPECT_EQ(offsets.values()[65'537], 65'537);
  EXPECT_EQ(offsets.values().back(), 70'000);
}

TEST(BatchLayoutTest, PadModeNamesGoBothWays) {
  for (int i = 0; i < 6; ++i) {
    const PadMode mode = static_cast<PadMode>(i);
    EXPECT_EQ(PadModeFromName(PadModeName(mode)), mode);
  }
  EXPECT_EQ(PadModeFromName("pad"), absl::nullopt);
}

}  // namespace
}  // namespace packhouse
