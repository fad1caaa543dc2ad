// What the calls for a GPU check before they launch anything. None of it needs
// a GPU; scripts/gpu-check is what does.

#include "packhouse/cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/cuda/launch.h"
#include "tests/kernels/test_batch.h"

namespace packhouse {
namespace {

using ::testing::HasSubstr;

// A tensor that claims to be on a device; nothing may touch it.
Tensor OnDevice(DType dtype, const std::vector<int64_t>& shape, int index = 0) {
  Tensor tensor;
  tensor.data = reinterpret_cast<void*>(uintptr_t{1} << 40);
  tensor.dtype = dtype;
  tensor.shape = shape;
  tensor.device = {DeviceType::kCuda, index};
  return tensor;
}

void* const kDeviceMemory = reinterpret_cast<void*>(uintptr_t{1} << 41);

class CudaTest : public ::testing::Test {
 protected:
  std::string Error(const std::vector<Output>& outputs) {
    const absl::Status status =
        FillOnCuda(layout_, options_, sources_, outputs, memory_, nullptr);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    return std::string(status.message());
  }
  Output Positions() {
    return {Format::kPositionIds,
            OnDevice(DType::kInt64, {layout_.rows(), layout_.row_tokens()})};
  }

  BatchLayout layout_ = *LayoutOf(RowsOf(12), {{5, 3}, {12}});
  FormatOptions options_;
  Sources sources_;
  CudaMemory memory_;
};

TEST_F(CudaTest, TensorsOfTheHostAndOfOtherDevices) {
  const Memory memory(DType::kInt64, {2, 12});
  EXPECT_THAT(Error({{Format::kPositionIds, memory.tensor()}}),
              HasSubstr("it is on cpu, it has to be on a CUDA device"));
  Output other = {Format::kCuSeqlens, OnDevice(DType::kInt32, {5}, 1)};
  EXPECT_THAT(Error({Positions(), other}),
              HasSubstr("cu_seqlens is on CUDA device 1, others are on 0"));
  sources_.tokens = OnDevice(DType::kInt32, {20}, 2);
  EXPECT_THAT(Error({Positions()}), HasSubstr("a source is on CUDA device 2"));
}

TEST_F(CudaTest, FormatsOfTheHostOnly) {
  EXPECT_THAT(Error({{Format::kChunkOffsets, OnDevice(DType::kInt32, {5})}}),
              HasSubstr("chunk_offsets: it is made on the host only"));
}

TEST_F(CudaTest, ManySegmentsNeedATable) {
  layout_ = *LayoutOf(RowsOf(701), {std::vector<uint32_t>(701, 1)});
  EXPECT_THAT(Error({Positions()}),
              HasSubstr("701 segments need a table in the memory of the "
                        "device: without one there may be 700"));
  memory_.table = static_cast<char*>(kDeviceMemory) + 8;
  EXPECT_THAT(Error({Positions()}), HasSubstr("multiples of 16"));
}

TEST_F(CudaTest, TargetsNeedAWorkspace) {
  sources_.labels = OnDevice(DType::kInt32, {20});
  const Output weights = {Format::kLossWeights,
                          OnDevice(DType::kFloat32, {2, 12})};
  EXPECT_EQ(CudaWorkspaceBytes(layout_, options_), 3 * 32 * 4);
  EXPECT_THAT(Error({weights}),
              HasSubstr("the workspace has 0 bytes, counting targets takes "
                        "384"));
}

TEST_F(CudaTest, ReplaysNeedSizesThatStay) {
  memory_.replayed = true;
  EXPECT_THAT(Error({Positions()}), HasSubstr("needs a table"));
  memory_.table = kDeviceMemory;
  EXPECT_THAT(Error({{Format::kCuSeqlens, OnDevice(DType::kInt32, {5})}}),
              HasSubstr("cu_seqlens: a graph cannot be replayed, its size "
                        "differs each time: set max_segments"));
  EXPECT_THAT(Error({{Format::kDocLens, OnDevice(DType::kInt32, {2, 3})}}),
              HasSubstr("set row_width"));
  EXPECT_THAT(Error({{Format::kUnpadIndices, OnDevice(DType::kInt64, {24})}}),
              HasSubstr("unpad_indices: a graph cannot be replayed"));
  LayoutSpec trim = RowsOf(12);
  trim.pad_mode = PadMode::kTrim;
  layout_ = *LayoutOf(trim, {{5, 3}});
  EXPECT_THAT(Error({Positions()}), HasSubstr("trimmed batch"));
}

// What the kernels read as their table is the layout's.
TEST_F(CudaTest, TableInMemoryOfTheDevice) {
  std::vector<Segment> store(20);  // more than aligned enough
  void* const data = reinterpret_cast<void*>(
      (reinterpret_cast<uintptr_t>(store.data()) + 15) / 16 * 16);
  const int64_t bytes = *CudaTableBytes(8);
  EXPECT_EQ(bytes, 16 + 9 * static_cast<int64_t>(sizeof(Segment)));
  ASSERT_TRUE(WriteCudaTable(layout_, 8, data, bytes).ok());
  const auto* header = static_cast<const CudaTableHeader*>(data);
  EXPECT_EQ(header->count, 4);
  EXPECT_EQ(header->rows, 2);
  EXPECT_EQ(header->row_tokens, 12);
  const auto* segments = reinterpret_cast<const Segment*>(header + 1);
  for (int s = 0; s <= 4; ++s) {
    EXPECT_EQ(segments[s].begin, layout_.table().segments[s].begin);
    EXPECT_EQ(segments[s].source, layout_.table().segments[s].source);
  }

  const auto error = [&](int64_t most, void* at, int64_t size) {
    return std::string(WriteCudaTable(layout_, most, at, size).message());
  };
  EXPECT_THAT(error(3, data, bytes),
              HasSubstr("has 4 segments, max_segments is 3"));
  EXPECT_THAT(error(8, data, bytes - 1),
              HasSubstr("takes 376 bytes, there are 375"));
  EXPECT_THAT(error(8, static_cast<char*>(data) + 4, bytes),
              HasSubstr("multiple of 16"));
  EXPECT_THAT(error(8, nullptr, bytes), HasSubstr("null"));
  for (const int64_t most : {int64_t{-1}, int64_t{0}, INT64_MAX}) {
    EXPECT_THAT(error(most, data, bytes), HasSubstr(absl::StrCat(most)));
    EXPECT_FALSE(CudaTableBytes(most).ok());
  }
  EXPECT_TRUE(CudaTableBytes(kMaxBatchTokens).ok());
}

TEST_F(CudaTest, EqualityMasks) {
  const absl::Status status =
      FillEqualityMaskOnCuda(OnDevice(DType::kInt32, {1, 4}), {}, {},
                             OnDevice(DType::kBool, {1, 1, 4, 4}, 1), nullptr);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the mask is on CUDA device 1, others are on 0"));
}

}  // namespace
}  // namespace packhouse
