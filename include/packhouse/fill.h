// Everything that a training stack may want to know of a packed batch.
//
// A *format* is one array: its element type, its shape and its values follow
// from a BatchLayout and FormatOptions. The caller owns all memory; Fill writes
// any number of formats in one call.
//
//   Output outputs[2] = {{Format::kPositionIds, positions},
//                        {Format::kCuSeqlens, offsets}};
//   absl::Status status = Fill(layout, FormatOptions(), Sources(), outputs);
//
// docs/formats.md says for each consumer which formats it takes.
// packhouse/cuda.h fills the same formats on a GPU.

#ifndef PACKHOUSE_FILL_H_
#define PACKHOUSE_FILL_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/batch_layout.h"
#include "packhouse/format.h"
#include "packhouse/segment_table.h"
#include "packhouse/tensor.h"

namespace packhouse {

// In snake case, as "position_ids".
absl::string_view FormatName(Format format);
absl::optional<Format> FormatFromName(absl::string_view name);

// What users call these values, in their order.
inline constexpr const char* kMaskNames[] = {
    "document", "causal", "causal_window", "symmetric_window"};
inline constexpr const char* kLabelShiftNames[] = {"by_model", "shifted",
                                                   "none"};
inline constexpr const char* kRowFillNames[] = {"last", "minus_one"};

struct DenseOptions {
  // Of bool masks: whether true is "attend" (PyTorch), or "masked"
  // (Transformer Engine).
  bool true_attends = true;
  // What is added where a pair does not attend: minus infinity, or the lowest
  // finite number of the type.
  bool minus_infinity = true;
  // A token that attends nothing (padding in kMasked and kSlots) makes some
  // softmax divide by zero: it attends itself, unless this is set.
  bool empty_rows = false;
};

struct FormatOptions {
  Mask mask;
  LabelShift label_shift = LabelShift::kByModel;
  int64_t pad_id = 0;
  // What kLabels has where there is nothing to learn, and which of the source
  // labels say so. (Megatron writes 0, whose token is learned like any other.)
  int64_t ignore_id = -100;
  int64_t source_ignore_id = -100;
  int64_t position_start = 0;
  BlockShape blocks;
  bool dq_kv_order = true;  // of kDqWriteOrder: the last block of keys first
  DenseOptions dense;
  int64_t cp_ranks = 1;
  int64_t chunk_tokens = 64;
  int64_t ragged_stride = 1;
  // 0: as many as there are.
  int64_t max_segments = 0;
  int64_t row_width = 0;
  RowFill row_fill = RowFill::kLast;
};

// The tokens of the sequences, one sequence after the other in the order of the
// layout: [sequence_tokens()], uint16, int32 or int64.
struct Sources {
  absl::optional<Tensor> tokens;  // of kInputIds
  // Of kLabels, kLossMask, kLossWeights and kTargets; what equals
  // source_ignore_id is not learned. `tokens` where it is absent. Without both,
  // all is learned that label_shift has a label for, and kLabels cannot be
  // filled.
  absl::optional<Tensor> labels;
};

struct Output {
  Format format;
  Tensor tensor;
};

struct FormatShape {
  std::vector<DType> dtypes;  // that it may have, the usual one first
  std::vector<int64_t> shape;
};

// INVALID_ARGUMENT where the options are out of their range, or the format does
// not go with the layout or the mask; names both.
absl::StatusOr<FormatShape> ShapeOf(Format format, const BatchLayout& layout,
                                    const FormatOptions& options);

// Bytes of a compact array of the usual type. As ShapeOf.
absl::StatusOr<int64_t> RequiredBytes(Format format, const BatchLayout& layout,
                                      const FormatOptions& options);

// Alignment of the outputs that share a buffer: a line of the cache, and what
// vector units and DLPack's consumers like best.
inline constexpr int64_t kOutputAlignment = 64;

// Bytes of a buffer for all of these formats, each of its usual type and at a
// multiple of kOutputAlignment. As ShapeOf.
absl::StatusOr<int64_t> RequiredBytes(absl::Span<const Format> formats,
                                      const BatchLayout& layout,
                                      const FormatOptions& options);

// These formats one after another in such a buffer, which the caller owns and
// which may be on any device. INVALID_ARGUMENT where it is too small (needed
// and given bytes are named), or not at a multiple of kOutputAlignment; else as
// ShapeOf.
absl::StatusOr<std::vector<Output>> OutputsIn(absl::Span<const Format> formats,
                                              const BatchLayout& layout,
                                              const FormatOptions& options,
                                              void* buffer, int64_t bytes,
                                              Device device = Device());

// Writes `outputs`, of memory that the host may write, on up to `threads`
// threads. All that is wrong is found before anything is written:
// INVALID_ARGUMENT, as ShapeOf, and where a tensor has another type, shape,
// device or alignment, is read-only, or is a source that is missing; where a
// format is there twice, or a source of 64 bits has a value that an output of
// 32 has no room for. The text names the format, what it has and what it needs.
// No two outputs or sources may overlap.
//
// A thread gets 1 MiB to write at least, so that few start for small batches;
// where the system has no more of them, those that are there do all.
absl::Status Fill(const BatchLayout& layout, const FormatOptions& options,
                  const Sources& sources, absl::Span<const Output> outputs,
                  int threads = 1);

// Writes a dense mask, as Format::kDenseMask, in which tokens attend each other
// where their ids are equal, within `mask`: for rows whose segments are not
// contiguous, such as BERT's with the first tokens at the end (Krell et al.,
// arXiv 2107.02027, section 3.2). Padding has an id like any other.
//
// ids: int32 or int64 [R, S]. output: [R, 1, S, S]. INVALID_ARGUMENT, with
// nothing written, as Fill.
absl::Status FillEqualityMask(const Tensor& ids, Mask mask,
                              const DenseOptions& options, const Tensor& output,
                              int threads = 1);

}  // namespace packhouse

#endif  // PACKHOUSE_FILL_H_
