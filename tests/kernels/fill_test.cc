#include "packhouse/fill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <set>
#include <thread>

#include "tests/kernels/oracle.h"
#include "tests/kernels/test_batch.h"

namespace packhouse {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Every format that the batch has, in every type, as the oracle says.
void ExpectAll(TestBatch batch, int skew, int threads) {
  absl::StatusOr<BatchLayout> layout =
      LayoutOf(batch.spec, batch.rows, batch.origins);
  ASSERT_TRUE(layout.ok()) << layout.status();
  for (Format format : FormatsOf(*layout, batch.options)) {
    const FormatShape shape = *ShapeOf(format, *layout, batch.options);
    for (DType dtype : shape.dtypes) {
      const int64_t pitch =
          format == Format::kDenseMask ? shape.shape.back() + skew : 0;
      const Memory memory(dtype, shape.shape, skew, pitch);
      const absl::Status status = Fill(*layout, batch.options, batch.sources(),
                                       {{format, memory.tensor()}}, threads);
      ASSERT_TRUE(status.ok()) << batch.text() << ": " << status;
      ASSERT_EQ(memory.values(), ExpectedValues(&batch, format, dtype))
          << FormatName(format) << " " << DTypeName(dtype) << " of "
          << batch.text();
      ASSERT_TRUE(memory.intact()) << FormatName(format) << batch.text();
    }
  }
}

TEST(FillTest, AllFormatsOfRandomBatches) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    BatchMaker maker(seed);
    ExpectAll(maker.Any(24), maker.Draw(0, 3), seed % 10 == 0 ? 3 : 1);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(FillTest, AllFormatsOfLargerBatches) {
  for (uint32_t seed = 0; seed < 40; ++seed) {
    BatchMaker maker(seed + 10'000);
    ExpectAll(maker.Any(150), maker.Draw(0, 3), seed % 10 == 0 ? 3 : 1);
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

// Around the usual sizes of blocks: lengths and rows one less and one more.
TEST(FillTest, BlocksOf128) {
  for (uint32_t tokens : {127u, 128u, 129u, 130u, 257u}) {
    for (uint32_t first : {1u, 127u, 128u, 129u}) {
      if (first > tokens) continue;
      for (int kind = 0; kind < 4; ++kind) {
        TestBatch batch;
        batch.spec.row_tokens = tokens;
        batch.rows = {{first}};
        if (first < tokens) batch.rows.push_back({first, tokens - first});
        batch.options.mask = {static_cast<MaskKind>(kind), 128};
        const BatchLayout layout = *LayoutOf(batch.spec, batch.rows);
        for (const Format format : BlockFormats()) {
          const Memory memory(DType::kInt32,
                              ShapeOf(format, layout, batch.options)->shape);
          ASSERT_TRUE(Fill(layout, batch.options, Sources(),
                           {{format, memory.tensor()}})
                          .ok());
          ASSERT_EQ(memory.values(),
                    ExpectedValues(&batch, format, DType::kInt32))
              << FormatName(format) << " of " << batch.text();
        }
      }
    }
  }
}

TEST(FillTest, OneCallFillsAll) {
  BatchMaker maker(7);
  TestBatch batch = maker.Any(24);
  const BatchLayout layout = *LayoutOf(batch.spec, batch.rows, batch.origins);
  std::vector<Format> formats = FormatsOf(layout, batch.options);
  std::vector<Memory> memories;
  for (Format format : formats) {
    const FormatShape shape = *ShapeOf(format, layout, batch.options);
    memories.emplace_back(shape.dtypes.front(), shape.shape);
  }
  std::vector<Output> outputs;
  for (size_t i = 0; i < formats.size(); ++i) {
    outputs.push_back({formats[i], memories[i].tensor()});
  }
  ASSERT_TRUE(Fill(layout, batch.options, batch.sources(), outputs).ok());
  for (size_t i = 0; i < formats.size(); ++i) {
    EXPECT_EQ(memories[i].values(),
              ExpectedValues(&batch, formats[i], memories[i].tensor().dtype))
        << FormatName(formats[i]);
  }
}

// Rows long enough for a dozen threads to get something, cut in the middle of
// segments, rows and blocks.
TEST(FillTest, ThreadsWriteTheSameBytes) {
  BatchMaker maker(11);
  TestBatch batch;
  batch.spec.row_tokens = 600;
  batch.options.cp_ranks = 2;  // all lengths are multiples of 4
  for (int row = 0; row < 3; ++row) {
    batch.rows.emplace_back();
    for (int left = 600; left > 100;) {
      const int length = 4 * maker.Draw(1, 25);
      batch.rows.back().push_back(length);
      left -= length;
      for (int i = 0; i < length; ++i) {
        batch.ids.push_back(maker.Draw(0, 9));
        batch.labels.push_back(maker.Draw(-101, -99));
      }
    }
  }
  const BatchLayout layout = *LayoutOf(batch.spec, batch.rows);
  const auto fill = [&](int threads) {
    std::vector<Memory> memories;
    std::vector<Output> outputs;
    for (Format format : FormatsOf(layout, batch.options)) {
      const FormatShape shape = *ShapeOf(format, layout, batch.options);
      const DType dtype =
          format == Format::kDenseMask ? DType::kFloat32 : shape.dtypes.front();
      memories.emplace_back(dtype, shape.shape);
      outputs.push_back({format, memories.back().tensor()});
    }
    EXPECT_EQ(memories.size(), static_cast<size_t>(kFormats));
    EXPECT_TRUE(
        Fill(layout, batch.options, batch.sources(), outputs, threads).ok());
    std::vector<Values> values;
    for (const Memory& memory : memories) values.push_back(memory.values());
    return values;
  };
  const std::vector<Values> of_one = fill(1);
  for (const int threads : {2, 7, 1024}) EXPECT_EQ(fill(threads), of_one);

  // Where no thread can start, the caller's does all.
  pthread_attr_t usual, impossible;
  ASSERT_EQ(pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(pthread_attr_init(&impossible), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&impossible, size_t{1} << 50), 0);
  ASSERT_EQ(pthread_setattr_default_np(&impossible), 0);
  EXPECT_ANY_THROW(std::thread([] {}).join());
  EXPECT_EQ(fill(7), of_one);
  ASSERT_EQ(pthread_setattr_default_np(&usual), 0);
}

// What is ignored in the source and what is written are two numbers.
TEST(FillTest, IgnoredLabelsAreWrittenAsTheConsumerWantsThem) {
  TestBatch batch;
  batch.spec.row_tokens = 6;
  batch.rows = {{5}};
  batch.ids = {7, 8, 9, 0, 5};
  batch.labels = {7, -100, 9, 0, 5};
  batch.options.label_shift = LabelShift::kShifted;
  batch.options.ignore_id = 0;
  const BatchLayout layout = *LayoutOf(batch.spec, batch.rows);
  const Memory labels(DType::kInt64, {1, 6});
  const Memory learned(DType::kFloat32, {1, 6});
  const std::vector<Output> outputs = {{Format::kLabels, labels.tensor()},
                                       {Format::kLossMask, learned.tensor()}};
  ASSERT_TRUE(Fill(layout, batch.options, batch.sources(), outputs).ok());
  // Token 0 is learned, and what was -100 is not.
  EXPECT_EQ(labels.values(), (Values{0, 9, 0, 5, 0, 0}));
  const Values one = {BitsOfFloat(1)};
  EXPECT_EQ(learned.values(), (Values{0, one[0], one[0], one[0], 0, 0}));

  // Labels of 16 bits have no -100: any number of theirs will do.
  std::vector<uint16_t> narrow = {7, 65'535, 9, 0, 5};
  Sources sources;
  sources.labels = SourceOf(&narrow);
  batch.options.ignore_id = -100;
  batch.options.source_ignore_id = 65'535;
  ASSERT_TRUE(Fill(layout, batch.options, sources, outputs).ok());
  EXPECT_EQ(labels.values(), (Values{-100, 9, 0, 5, -100, -100}));
  EXPECT_EQ(learned.values(), (Values{0, one[0], one[0], one[0], 0, 0}));
}

// Buffers that keep their size from batch to batch: nothing of an earlier one
// stays in them.
TEST(FillTest, CapacityOfSegmentsAndRows) {
  TestBatch batch;
  batch.spec.row_tokens = 5;
  batch.rows = {{3, 2}, {4}};
  batch.options.max_segments = 7;
  batch.options.row_width = 4;
  for (int i = 0; i < 9; ++i) {
    batch.ids.push_back(i);
    batch.labels.push_back(i);
  }
  ExpectAll(batch, 0, 1);
}

TEST(FillTest, NamesGoBothWays) {
  std::set<absl::string_view> names;
  for (int i = 0; i < kFormats; ++i) {
    const Format format = static_cast<Format>(i);
    EXPECT_EQ(FormatFromName(FormatName(format)), format);
    names.insert(FormatName(format));
  }
  EXPECT_EQ(names.size(), kFormats);
  EXPECT_EQ(FormatFromName("mask"), absl::nullopt);
}

TEST(FillTest, RequiredBytes) {
  const BatchLayout layout = *LayoutOf(RowsOf(12), {{5, 3}, {12}});
  EXPECT_EQ(*RequiredBytes(Format::kPositionIds, layout, {}), 2 * 12 * 8);
  EXPECT_EQ(*RequiredBytes(Format::kCuSeqlens, layout, {}), 5 * 4);
  EXPECT_EQ(*RequiredBytes(Format::kDenseMask, layout, {}), 2 * 12 * 12);
}

// Weights of a sequence sum to one, or to nothing where it has no target.
TEST(FillTest, LossWeightsSumToOne) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    TestBatch batch = BatchMaker(seed).Any(60);
    const BatchLayout layout = *LayoutOf(batch.spec, batch.rows, batch.origins);
    const Memory weights(DType::kFloat32, {layout.rows(), layout.row_tokens()});
    const Memory targets(DType::kInt32, {layout.sequences()});
    const Memory ids(DType::kInt32, {layout.rows(), layout.row_tokens()});
    FormatOptions options = batch.options;
    ASSERT_TRUE(Fill(layout, options, batch.sources(),
                     {{Format::kLossWeights, weights.tensor()},
                      {Format::kTargets, targets.tensor()},
                      {Format::kSequenceIds, ids.tensor()}})
                    .ok());
    const float* weight = static_cast<const float*>(weights.tensor().data);
    double sum = 0;
    for (int64_t t = 0; t < layout.tokens(); ++t) {
      if (ids.values()[t] == 0) {
        EXPECT_EQ(weight[t], 0);
      }
      sum += weight[t];
    }
    int64_t learning = 0;
    for (int64_t count : targets.values()) learning += count > 0;
    EXPECT_NEAR(sum, static_cast<double>(learning), 1e-4) << batch.text();
  }
}

// ------------------------------------------------------------------ refusals
// --

class FillErrorTest : public ::testing::Test {
 protected:
  void ExpectRefused(Format format, const Tensor& tensor,
                     const ::testing::Matcher<std::string>& text) {
    const absl::Status status =
        Fill(layout_, options_, sources_, {{format, tensor}});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), text);
    EXPECT_LT(status.message().size(), 300u);
  }

  const BatchLayout layout_ = *LayoutOf(RowsOf(12), {{5, 3}, {12}});
  FormatOptions options_;
  Sources sources_;
};

TEST_F(FillErrorTest, WrongTensorsAreRefusedAndNothingIsWritten) {
  const Memory good(DType::kInt32, {5});
  const Memory memory(DType::kInt64, {2, 12}, /*skew=*/1);
  Tensor tensor = memory.tensor();

  tensor.dtype = DType::kFloat32;
  ExpectRefused(Format::kPositionIds, tensor,
                HasSubstr("position_ids: its type is float32, it must be int64 "
                          "or int32"));
  tensor = memory.tensor();
  tensor.shape = {24};
  ExpectRefused(Format::kPositionIds, tensor,
                HasSubstr("its shape is [24], it must be [2, 12] (192 bytes)"));
  tensor = memory.tensor();
  tensor.read_only = true;
  ExpectRefused(Format::kPositionIds, tensor, HasSubstr("read-only"));
  tensor = memory.tensor();
  tensor.data = nullptr;
  ExpectRefused(Format::kPositionIds, tensor, HasSubstr("null"));
  tensor = memory.tensor();
  tensor.data = static_cast<char*>(tensor.data) + 1;
  ExpectRefused(Format::kPositionIds, tensor,
                HasSubstr("ends in 9 (mod 16), elements of int64 need a "
                          "multiple of 8"));
  tensor = memory.tensor();
  tensor.device = {DeviceType::kCuda, 1};
  ExpectRefused(Format::kPositionIds, tensor,
                HasSubstr("on cuda:1, it has to be on the host"));
  tensor = memory.tensor();
  tensor.pitch = 16;
  ExpectRefused(Format::kPositionIds, tensor, HasSubstr("compact"));
  EXPECT_TRUE(memory.untouched());

  // A wrong one behind a good one: the good one is not written either.
  EXPECT_FALSE(Fill(layout_, options_, sources_,
                    {{Format::kCuSeqlens, good.tensor()},
                     {Format::kPositionIds, tensor}})
                   .ok());
  EXPECT_TRUE(good.untouched());
  EXPECT_FALSE(Fill(layout_, options_, sources_,
                    {{Format::kCuSeqlens, good.tensor()},
                     {Format::kCuSeqlens, good.tensor()}})
                   .ok());
  EXPECT_TRUE(good.untouched());
}

TEST_F(FillErrorTest, PitchOfDenseMasks) {
  const Memory memory(DType::kBool, {2, 1, 12, 12}, 0, 16);
  Tensor tensor = memory.tensor();
  tensor.pitch = 11;
  ExpectRefused(Format::kDenseMask, tensor,
                HasSubstr("pitch is 11, it must be from 12 to"));
  tensor.pitch = int64_t{1} << 62;
  ExpectRefused(Format::kDenseMask, tensor, HasSubstr("pitch is"));
  EXPECT_TRUE(memory.untouched());
}

TEST_F(FillErrorTest, Sources) {
  const Memory ids(DType::kInt64, {2, 12});
  ExpectRefused(Format::kInputIds, ids.tensor(),
                HasSubstr("input_ids: it needs the source tokens"));
  ExpectRefused(Format::kLabels, ids.tensor(), HasSubstr("labels, or tokens"));
  std::vector<int32_t> tokens(19);
  sources_.tokens = SourceOf(&tokens);
  ExpectRefused(Format::kInputIds, ids.tensor(),
                HasSubstr("source tokens: its shape is [19], it must be [20]"));
  tokens.resize(20);
  sources_.tokens = SourceOf(&tokens);
  sources_.tokens->dtype = DType::kFloat32;
  ExpectRefused(Format::kInputIds, ids.tensor(),
                HasSubstr("source tokens: its type is float32"));
  sources_.tokens = SourceOf(&tokens);
  options_.pad_id = int64_t{1} << 40;
  const Memory narrow(DType::kInt32, {2, 12});
  ExpectRefused(Format::kInputIds, narrow.tensor(),
                HasSubstr("pad_id is 1099511627776"));
  options_ = {};
  sources_.tokens->pitch = 21;
  ExpectRefused(Format::kInputIds, narrow.tensor(),
                HasSubstr("source tokens: its pitch is 21, it has to be "
                          "compact: 20"));
  std::vector<int64_t> wide(20, -100);
  wide[19] = int64_t{1} << 31;
  sources_.tokens = SourceOf(&wide);
  ExpectRefused(Format::kInputIds, narrow.tensor(),
                HasSubstr("input_ids: source tokens has 2147483648 at place 19,"
                          " an int32 output has room from"));
  sources_.labels = SourceOf(&wide);
  sources_.tokens = absl::nullopt;
  ExpectRefused(Format::kLabels, narrow.tensor(),
                HasSubstr("labels: source labels has 2147483648"));
  EXPECT_TRUE(ids.untouched());
  EXPECT_TRUE(narrow.untouched());
  EXPECT_TRUE(
      Fill(layout_, options_, sources_, {{Format::kLabels, ids.tensor()}})
          .ok());
  EXPECT_EQ(ids.values().back(), int64_t{1} << 31);
}

TEST_F(FillErrorTest, Options) {
  const Memory any(DType::kInt32, {2, 12});
  options_.mask = {MaskKind::kCausalWindow, 0};
  ExpectRefused(Format::kKvStart, any.tensor(),
                HasSubstr("kv_start: window is 0, it must be from 1 to"));
  options_.mask = {MaskKind::kSymmetricWindow, -1};
  ExpectRefused(Format::kKvStart, any.tensor(), HasSubstr("window is -1"));
  options_.mask = {static_cast<MaskKind>(9), 1};
  ExpectRefused(Format::kKvStart, any.tensor(), HasSubstr("number 9"));
  options_.mask = {MaskKind::kCausalWindow, 4};
  ExpectRefused(Format::kQRanges, any.tensor(), HasSubstr("window (4)"));
  options_ = {};
  options_.max_segments = 3;
  ExpectRefused(Format::kCuSeqlens, any.tensor(),
                HasSubstr("max_segments is 3, it must be from 4 to"));
  options_ = {};
  options_.row_width = 1;
  ExpectRefused(Format::kDocLens, any.tensor(),
                HasSubstr("row_width is 1, it must be from 3 to"));
  options_ = {};
  options_.chunk_tokens = 0;
  ExpectRefused(Format::kChunkOffsets, any.tensor(),
                HasSubstr("chunk_tokens is 0"));
  options_ = {};
  options_.blocks.kv = 0;
  ExpectRefused(Format::kKvIndices, any.tensor(), HasSubstr("128 x 0"));
  options_ = {};
  options_.cp_ranks = 2;
  ExpectRefused(
      Format::kCpIndices, any.tensor(),
      AllOf(HasSubstr("segment 0 has 5 tokens"), HasSubstr("multiples of 4")));
  options_ = {};
  options_.position_start = INT32_MAX - 10;
  ExpectRefused(Format::kPositionIds, any.tensor(),
                HasSubstr("position_start is 2147483637, it must be from 0 to "
                          "2147483636"));
  options_ = {};
  options_.ragged_stride = 0;
  const Memory offsets(DType::kInt64, {5});
  ExpectRefused(Format::kRaggedOffsets, offsets.tensor(),
                HasSubstr("ragged_stride is 0"));
  options_ = {};
  options_.label_shift = static_cast<LabelShift>(3);
  const Memory weights(DType::kFloat32, {2, 12});
  ExpectRefused(Format::kLossMask, weights.tensor(),
                HasSubstr("label_shift is number 3"));
  options_ = {};
  options_.row_fill = static_cast<RowFill>(-1);
  const Memory of_rows(DType::kInt32, {2, 4});
  ExpectRefused(Format::kRowCuSeqlens, of_rows.tensor(),
                HasSubstr("row_fill is number -1"));
  EXPECT_TRUE(weights.untouched());
  EXPECT_TRUE(of_rows.untouched());
  EXPECT_FALSE(
      ShapeOf(static_cast<Format>(kFormats), layout_, FormatOptions()).ok());
  EXPECT_FALSE(Fill(layout_, {}, {}, {}, 0).ok());
  EXPECT_TRUE(any.untouched());
}

// 131,072 tokens of one segment are 2^31 bytes of bits, one more than offsets
// of 32 bits reach.
TEST(FillErrorTest2, PackedMaskBeyondItsOffsets) {
  EXPECT_TRUE(
      ShapeOf(Format::kPackedMask, *LayoutOf(RowsOf(131'071), {{131'071}}), {})
          .ok());
  const absl::Status status =
      ShapeOf(Format::kPackedMask, *LayoutOf(RowsOf(131'072), {{131'072}}), {})
          .status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("131072"));
}

// Padding between sequences that spans a block makes block rows with holes.
TEST(FillErrorTest2, BlocksWithHoles) {
  LayoutSpec spec;
  spec.row_tokens = 64;
  spec.alignment = 16;
  spec.pad_mode = PadMode::kSlots;
  const BatchLayout layout = *LayoutOf(spec, {{3, 3}});
  FormatOptions options;
  options.blocks = {32, 4, false};
  const absl::Status status =
      ShapeOf(Format::kKvIndices, layout, options).status();
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("kv_indices"), HasSubstr("padding of 13 tokens")));
  options.blocks = {32, 32, false};
  EXPECT_TRUE(ShapeOf(Format::kKvIndices, layout, options).ok());
}

// A block table of 65,536 tokens takes no table of pairs: 4 GiB would not fit
// the limit that the test is under.
TEST(FillTest, LongRowsTakeNoTableOfPairs) {
  LayoutSpec spec;
  spec.row_tokens = 65'536;
  std::vector<uint32_t> row(40, 1'600);
  const BatchLayout layout = *LayoutOf(spec, {row});
  EXPECT_EQ(*RequiredBytes(Format::kKvIndices, layout, {}), 512 * 512 * 4);
  const Memory counts(DType::kInt32, {1, 1, 512});
  ASSERT_TRUE(
      Fill(layout, {}, {}, {{Format::kKvNumBlocks, counts.tensor()}}).ok());
  EXPECT_EQ(counts.values().front(), 1);
}

}  // namespace
}  // namespace packhouse
