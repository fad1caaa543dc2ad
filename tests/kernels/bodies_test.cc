// The very bodies that a GPU runs, for every block and thread, against the CPU
// driver: equal bytes, nothing outside.

#include <gtest/gtest.h>

#include "kernels/fill_plan.h"
#include "kernels/jobs.h"
#include "tests/kernels/test_batch.h"

namespace packhouse {
namespace {

// A launch: threads in an order of their own, since none may depend on another.
template <typename Job, typename... Table>
void Launch(const Job& job, const Table&... table) {
  for (int64_t block = job.blocks() - 1; block >= 0; --block) {
    for (int32_t thread = kThreads - 1; thread >= 0; --thread) {
      Body(job, table..., block, thread);
    }
  }
}

// What the CUDA driver launches for a plan.
void Emulate(FillPlan plan, const BatchLayout& layout) {
  const SegmentTable table = layout.table();
  std::vector<int32_t> counts;
  for (ArraysJob& job : plan.arrays) {
    if (plan.counts_targets) {
      const int32_t sequences = static_cast<int32_t>(layout.sequences());
      counts.assign(int64_t{sequences} * kTargetLanes, -1);
      Launch(TargetsJob{job.context, sequences, counts.data()}, table);
      job.context.target_counts = counts.data();
      job.context.target_lanes = kTargetLanes;
    }
    Launch(job, table);
  }
  for (const BlocksJob& job : plan.blocks) Launch(job, table);
  for (const DenseJob& job : plan.dense) Launch(job, table);
}

// All formats of a batch in one plan, as the kernels and as the driver make
// them. `type` chooses among the types that a format may have.
void ExpectEqual(TestBatch batch, int skew, size_t type) {
  const BatchLayout layout = *LayoutOf(batch.spec, batch.rows, batch.origins);
  std::vector<Format> formats;
  std::vector<Memory> by_body;
  std::vector<Memory> by_driver;
  for (Format format : FormatsOf(layout, batch.options)) {
    if (KindOf(format) == FormatKind::kHostOnly) continue;
    const FormatShape shape = *ShapeOf(format, layout, batch.options);
    const DType dtype = shape.dtypes[type % shape.dtypes.size()];
    const int64_t pitch =
        format == Format::kDenseMask ? shape.shape.back() + skew : 0;
    formats.push_back(format);
    by_body.emplace_back(dtype, shape.shape, skew, pitch);
    by_driver.emplace_back(dtype, shape.shape, skew, pitch);
  }
  const auto outputs = [&](const std::vector<Memory>& memories) {
    std::vector<Output> list;
    for (size_t i = 0; i < formats.size(); ++i) {
      list.push_back({formats[i], memories[i].tensor()});
    }
    return list;
  };
  ASSERT_TRUE(
      Fill(layout, batch.options, batch.sources(), outputs(by_driver)).ok());
  absl::StatusOr<FillPlan> plan = PlanFill(Side::kHost, layout, batch.options,
                                           batch.sources(), outputs(by_body));
  ASSERT_TRUE(plan.ok()) << plan.status();
  Emulate(*plan, layout);
  for (size_t i = 0; i < formats.size(); ++i) {
    ASSERT_EQ(by_body[i].values(), by_driver[i].values())
        << FormatName(formats[i]) << " of " << batch.text();
    ASSERT_TRUE(by_body[i].intact()) << FormatName(formats[i]);
  }
}

TEST(BodiesTest, EqualTheCpuDriver) {
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    BatchMaker maker(seed);
    ExpectEqual(maker.Any(30), maker.Draw(0, 3), maker.Draw(0, 3));
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(BodiesTest, EqualTheCpuDriverOnLargerBatches) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    BatchMaker maker(seed + 50'000);
    ExpectEqual(maker.Any(700), maker.Draw(0, 3), maker.Draw(0, 3));
    if (HasFatalFailure()) FAIL() << "seed " << seed;
  }
}

TEST(BodiesTest, EqualityMasks) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    BatchMaker maker(seed);
    const int rows = maker.Draw(1, 3);
    const int tokens = maker.Draw(1, 90);
    const bool wide = maker.Draw(0, 1) == 1;
    const DType types[] = {DType::kBool, DType::kFloat32, DType::kBFloat16,
                           DType::kFloat16};
    const DType dtype = types[maker.Draw(0, 3)];
    const TestBatch batch = maker.Any(4);  // for its options
    Values ids;
    for (int i = 0; i < rows * tokens; ++i) ids.push_back(maker.Draw(0, 3));
    std::vector<int32_t> narrow(ids.begin(), ids.end());
    Tensor source = SourceOf(&narrow);
    if (wide) source.data = ids.data();
    if (wide) source.dtype = DType::kInt64;
    source.shape = {rows, tokens};

    const int skew = maker.Draw(0, 3);
    const Memory by_driver(dtype, {rows, 1, tokens, tokens}, skew,
                           tokens + skew);
    const Memory by_body(dtype, {rows, 1, tokens, tokens}, skew, tokens + skew);
    const Mask mask = batch.options.mask;
    const DenseOptions dense = batch.options.dense;
    ASSERT_TRUE(
        FillEqualityMask(source, mask, dense, by_driver.tensor(), 2).ok());
    const absl::StatusOr<EqualityJob> job =
        PlanEquality(Side::kHost, source, mask, dense, by_body.tensor());
    ASSERT_TRUE(job.ok()) << job.status();
    Launch(*job);

    const Values patterns = DensePatterns(dtype, dense);
    Values expected;
    for (int line = 0; line < rows * tokens; ++line) {
      const int q = line % tokens;
      for (int k = 0; k < tokens; ++k) {
        const bool equal = ids[line] == ids[line - q + k];
        const int64_t window = mask.window;
        const bool near = mask.kind == MaskKind::kDocument ||
                          (mask.kind == MaskKind::kCausal && k <= q) ||
                          (mask.kind == MaskKind::kCausalWindow && k <= q &&
                           q - k < window) ||
                          (mask.kind == MaskKind::kSymmetricWindow &&
                           std::abs(q - k) <= window);
        expected.push_back(patterns[equal && near]);
      }
    }
    ASSERT_EQ(by_driver.values(), expected) << seed;
    ASSERT_EQ(by_body.values(), expected) << seed;
    ASSERT_TRUE(by_driver.intact()) << seed;
    ASSERT_TRUE(by_body.intact()) << seed;
  }
}

TEST(BodiesTest, EqualityMasksOfWrongTensors) {
  std::vector<int32_t> ids(12);
  Tensor source = SourceOf(&ids);
  const Memory mask(DType::kBool, {1, 1, 12, 12});
  const auto error = [&](const Tensor& from, const Tensor& to) {
    return std::string(FillEqualityMask(from, {}, {}, to).message());
  };
  EXPECT_NE(error(source, mask.tensor()).find("their shape is [12]"),
            std::string::npos);
  source.shape = {1, 12};
  Tensor other = source;
  other.dtype = DType::kFloat32;
  EXPECT_NE(error(other, mask.tensor()).find("type is float32"),
            std::string::npos);
  const Memory wrong(DType::kBool, {1, 12, 12});
  EXPECT_NE(error(source, wrong.tensor())
                .find("its shape is [1, 12, 12], it must be [1, 1, 12, 12]"),
            std::string::npos);
  EXPECT_TRUE(mask.untouched());
  EXPECT_TRUE(wrong.untouched());
}

// Each table of a BlockMask alone, as together with the others.
TEST(BodiesTest, OneTableOfABlockMask) {
  TestBatch batch;
  batch.spec = RowsOf(300);
  batch.rows = {{100, 90, 60}, {300}};
  batch.options.blocks = {3, 7, false};
  const BatchLayout layout = *LayoutOf(batch.spec, batch.rows);
  for (const Format format : BlockFormats()) {
    const Memory memory(DType::kInt32,
                        ShapeOf(format, layout, batch.options)->shape);
    const FillPlan plan = *PlanFill(Side::kHost, layout, batch.options,
                                    Sources(), {{format, memory.tensor()}});
    // A thread has something to write at least.
    EXPECT_LE(plan.blocks.front().blocks(),
              Elements(memory.tensor().shape) / kThreads + 1);
    Emulate(plan, layout);
    ASSERT_EQ(memory.values(), ExpectedValues(&batch, format, DType::kInt32))
        << FormatName(format);
    ASSERT_TRUE(memory.intact()) << FormatName(format);
  }
}

// A job without anything to do launches no thread.
TEST(BodiesTest, NothingWantedIsNothingLaunched) {
  const BatchLayout layout = *LayoutOf(RowsOf(12), {{5, 3}});
  const FillPlan plan = *PlanFill(Side::kHost, layout, {}, {}, {});
  EXPECT_TRUE(plan.arrays.empty());
  EXPECT_TRUE(plan.blocks.empty());
  EXPECT_TRUE(plan.dense.empty());
}

}  // namespace
}  // namespace packhouse
