// Batches, options and memory for the tests of the masks.

#ifndef PACKHOUSE_TESTS_KERNELS_TEST_BATCH_H_
#define PACKHOUSE_TESTS_KERNELS_TEST_BATCH_H_

#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"
#include "tests/kernels/oracle.h"

namespace packhouse {

inline LayoutSpec RowsOf(int64_t row_tokens) {
  LayoutSpec spec;
  spec.row_tokens = row_tokens;
  return spec;
}

inline absl::StatusOr<BatchLayout> LayoutOf(
    const LayoutSpec& spec, const Rows& rows,
    const std::vector<uint32_t>& origins = {}) {
  std::vector<uint32_t> lengths;
  std::vector<uint64_t> offsets = {0};
  for (const auto& row : rows) {
    lengths.insert(lengths.end(), row.begin(), row.end());
    offsets.push_back(lengths.size());
  }
  return BatchLayout::Make(spec, lengths, offsets, origins);
}

// Memory of a tensor, `skew` elements behind an address that is a multiple of
// 16, between canaries.
class Memory {
 public:
  Memory(DType dtype, const std::vector<int64_t>& shape, int skew = 0,
         int64_t pitch = 0)
      : pitch_(pitch == 0 ? (shape.empty() ? 1 : shape.back()) : pitch) {
    const int64_t bytes = DTypeBytes(dtype);
    const int64_t last = shape.empty() ? 1 : shape.back();
    const int64_t lines = last == 0 ? 0 : Elements(shape) / last;
    size_ = static_cast<size_t>(lines * pitch_ * bytes);
    store_.assign(size_ + 3 * kCanary, kFill);
    uint8_t* begin = store_.data() + kCanary;
    begin += (16 - reinterpret_cast<uintptr_t>(begin) % 16) % 16;
    begin += skew * bytes;
    tensor_.data = begin;
    tensor_.dtype = dtype;
    tensor_.shape = shape;
    tensor_.pitch = pitch;
  }

  const Tensor& tensor() const { return tensor_; }

  // With all that is round it.
  const std::vector<uint8_t>& store() const { return store_; }

  // Elements as integers: floats as their bits, bytes and halves unsigned.
  Values values() const {
    Values values;
    const int64_t last = tensor_.shape.empty() ? 1 : tensor_.shape.back();
    const int64_t lines = last == 0 ? 0 : Elements(tensor_.shape) / last;
    for (int64_t line = 0; line < lines; ++line) {
      for (int64_t i = 0; i < last; ++i)
        values.push_back(At(line * pitch_ + i));
    }
    return values;
  }

  // Whether all around, and between the lines, is as it was.
  bool intact() const {
    const uint8_t* const begin = static_cast<const uint8_t*>(tensor_.data);
    for (const uint8_t& byte : store_) {
      const bool inside = &byte >= begin && &byte < begin + size_;
      if (!inside && byte != kFill) return false;
    }
    const int64_t bytes = DTypeBytes(tensor_.dtype);
    const int64_t last = tensor_.shape.empty() ? 1 : tensor_.shape.back();
    for (size_t i = 0; i < size_; ++i) {
      const bool between =
          static_cast<int64_t>(i) % (pitch_ * bytes) >= last * bytes;
      if (between && begin[i] != kFill) return false;
    }
    return true;
  }

  bool untouched() const {
    for (uint8_t byte : store_) {
      if (byte != kFill) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kCanary = 64;
  static constexpr uint8_t kFill = 0xA5;

  int64_t At(int64_t i) const {
    const uint8_t* const data = static_cast<const uint8_t*>(tensor_.data);
    const int64_t bytes = DTypeBytes(tensor_.dtype);
    if (bytes == 1) return data[i];
    if (bytes == 2) {
      uint16_t value;
      std::memcpy(&value, data + 2 * i, 2);
      return value;
    }
    if (bytes == 4) {
      int32_t value;
      std::memcpy(&value, data + 4 * i, 4);
      return value;
    }
    int64_t value;
    std::memcpy(&value, data + 8 * i, 8);
    return value;
  }

  int64_t pitch_;
  size_t size_;
  std::vector<uint8_t> store_;
  Tensor tensor_;
};

template <typename T>
Tensor SourceOf(std::vector<T>* values) {
  return HostTensor(values->data(), {static_cast<int64_t>(values->size())});
}

// A batch with all that it takes to fill formats from it.
struct TestBatch {
  LayoutSpec spec;
  Rows rows;
  std::vector<uint32_t> origins;
  FormatOptions options;
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;

  Sources sources() {
    Sources result;
    result.tokens = SourceOf(&ids);
    result.labels = SourceOf(&labels);
    return result;
  }

  std::string text() const {
    return absl::StrCat(
        "rows ",
        absl::StrJoin(rows, ";",
                      [](std::string* out, const std::vector<uint32_t>& row) {
                        absl::StrAppend(out, absl::StrJoin(row, ","));
                      }),
        " capacity ", spec.row_tokens, " mode ", PadModeName(spec.pad_mode),
        " alignment ", spec.alignment, spec.flat ? " flat" : "", " mask ",
        static_cast<int>(options.mask.kind), " window ", options.mask.window,
        " blocks ", options.blocks.q, "x", options.blocks.kv,
        options.blocks.edge_full ? " edge_full" : "", " shift ",
        static_cast<int>(options.label_shift), " cp ", options.cp_ranks);
  }
};

class BatchMaker {
 public:
  explicit BatchMaker(uint32_t seed) : random_(seed) {}

  int Draw(int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random_);
  }

  // Rows of at most `max_tokens`; any mode, mask and block shape.
  TestBatch Any(int max_tokens) {
    TestBatch batch;
    batch.spec.row_tokens = Draw(1, max_tokens);
    batch.spec.pad_mode = static_cast<PadMode>(Draw(0, 5));
    batch.spec.flat = Draw(0, 3) == 0;
    const bool aligned =
        batch.spec.pad_mode != PadMode::kTrim && Draw(0, 2) == 0;
    batch.spec.alignment = aligned ? Draw(1, 6) : 1;
    batch.spec.trim_multiple = Draw(0, 1) == 0 ? 1 : Draw(1, 9);
    const int rows = Draw(1, 4);
    for (int r = 0; r < rows; ++r) batch.rows.push_back(Row(batch.spec));
    FormatOptions& options = batch.options;
    options.mask.kind = static_cast<MaskKind>(Draw(0, 3));
    options.mask.window = Draw(0, 5) == 0 ? INT32_MAX : Draw(1, 12);
    options.label_shift = static_cast<LabelShift>(Draw(0, 2));
    options.row_fill = static_cast<RowFill>(Draw(0, 1));
    options.pad_id = Draw(-3, 3);
    if (Draw(0, 3) == 0) options.ignore_id = Draw(-3, 3);
    if (Draw(0, 3) == 0) options.source_ignore_id = Draw(0, 3);
    options.position_start = Draw(0, 2) == 0 ? 2 : 0;
    options.blocks.q = Draw(1, 9);
    options.blocks.kv = Draw(0, 1) == 0 ? options.blocks.q : Draw(1, 9);
    options.blocks.edge_full = Draw(0, 3) == 0;
    options.dq_kv_order = Draw(0, 1) == 0;
    options.dense.true_attends = Draw(0, 1) == 0;
    options.dense.minus_infinity = Draw(0, 1) == 0;
    options.dense.empty_rows = Draw(0, 1) == 0;
    options.chunk_tokens = Draw(1, 9);
    options.ragged_stride = Draw(1, 1000);
    options.cp_ranks = Draw(1, 3);
    Tokens(&batch);
    return batch;
  }

 private:
  std::vector<uint32_t> Row(const LayoutSpec& spec) {
    std::vector<uint32_t> row;
    const int most =
        Draw(0, 3) == 0 ? 1 : Draw(1, static_cast<int>(spec.row_tokens));
    int64_t used = 0;
    while (Draw(0, 9) != 0) {
      const int64_t begin =
          (used + spec.alignment - 1) / spec.alignment * spec.alignment;
      if (begin >= spec.row_tokens) break;
      const int length = Draw(1, most);
      if (begin + length > spec.row_tokens) continue;
      row.push_back(length);
      used = begin + length;
    }
    return row;
  }

  void Tokens(TestBatch* batch) {
    const bool origins = Draw(0, 2) == 0;
    for (const auto& row : batch->rows) {
      for (uint32_t length : row) {
        if (origins) batch->origins.push_back(Draw(0, 1) * Draw(0, 100));
        for (uint32_t i = 0; i < length; ++i) {
          batch->ids.push_back(Draw(0, 50'000));
          batch->labels.push_back(Draw(0, 2) == 0
                                      ? (Draw(0, 1) == 0 ? -100 : Draw(0, 3))
                                      : Draw(0, 50'000));
        }
      }
    }
  }

  std::mt19937 random_;
};

// The formats that the batch has: all but those it cannot have.
inline std::vector<Format> FormatsOf(const BatchLayout& layout,
                                     const FormatOptions& options) {
  std::vector<Format> formats;
  for (int i = 0; i < kFormats; ++i) {
    const Format format = static_cast<Format>(i);
    if (ShapeOf(format, layout, options).ok()) formats.push_back(format);
  }
  return formats;
}

// The eight tensors of a BlockMask.
inline std::vector<Format> BlockFormats() {
  std::vector<Format> formats;
  for (int f = static_cast<int>(Format::kKvNumBlocks);
       f <= static_cast<int>(Format::kFullQIndices); ++f) {
    formats.push_back(static_cast<Format>(f));
  }
  return formats;
}

// What a dense mask has for 0 (masked) and 1 (attended).
inline Values DensePatterns(DType dtype, const DenseOptions& options) {
  switch (dtype) {
    case DType::kFloat32:
      return {
          options.minus_infinity ? int32_t(0xFF800000) : int32_t(0xFF7FFFFF),
          0};
    case DType::kBFloat16:
      return {options.minus_infinity ? 0xFF80 : 0xFF7F, 0};
    case DType::kFloat16:
      return {options.minus_infinity ? 0xFC00 : 0xFBFF, 0};
    default:
      return options.true_attends ? Values{0, 1} : Values{1, 0};
  }
}

// What `format` has to be, as Memory::values shows it.
inline Values ExpectedValues(TestBatch* batch, Format format, DType dtype) {
  const Oracle oracle(batch->spec, batch->rows, batch->origins);
  Values expected = oracle.Expected(
      format, batch->options, Values(batch->ids.begin(), batch->ids.end()),
      Values(batch->labels.begin(), batch->labels.end()));
  if (format == Format::kDenseMask) {
    const Values patterns = DensePatterns(dtype, batch->options.dense);
    for (int64_t& value : expected) value = patterns[value];
  }
  return expected;
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_KERNELS_TEST_BATCH_H_
