// The formats of packhouse/fill.h on a CUDA device, on the caller's stream.
//
// A call checks its request and launches kernels: one for all arrays (and one
// before it, where labels have to be counted), one for the tables of a
// BlockMask, one for a dense mask. It allocates nothing, waits for nothing and
// reads nothing back, so it can be captured into a graph. Outputs have the bits
// that Fill writes: the kernels run the same functions.
//
// The kernels need to know the segments. Up to kMaxInlineSegments of them
// travel as parameters of the launch and nothing has to be done. More of them,
// and batches that a captured graph is to be replayed for, take a table in the
// memory of the device, which the caller owns and fills from pinned memory:
//
//   WriteCudaTable(layout, max_segments, pinned, bytes);
//   cudaMemcpyAsync(table, pinned, bytes, cudaMemcpyHostToDevice, stream);
//   CudaMemory memory;
//   memory.table = table;
//   FillOnCuda(layout, options, sources, outputs, memory, stream);
//
// No header of CUDA is needed here. Where Packhouse was built without a CUDA
// compiler the calls that launch answer UNIMPLEMENTED.

#ifndef PACKHOUSE_CUDA_H_
#define PACKHOUSE_CUDA_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"

namespace packhouse {

// A cudaStream_t; null is the legacy default stream.
using CudaStream = void*;

// Segments that fit the parameters of a kernel, of which CUDA 12.1 and later
// take 32,764 bytes.
inline constexpr int64_t kMaxInlineSegments = 700;

// Memory of the device, of the caller, that has to stay until the kernels are
// done.
struct CudaMemory {
  // What WriteCudaTable wrote, at a multiple of 16; null: by parameter.
  const void* table = nullptr;
  // CudaWorkspaceBytes, at a multiple of 16.
  void* workspace = nullptr;
  int64_t workspace_bytes = 0;
  // Whether the launches are captured, to be replayed with other batches in
  // `table`: of the same rows, row_tokens and options, with sources at the same
  // address, for which FillOnCuda would be OK too. (What was checked of the
  // first batch is not checked of them: CheckShares for context-parallel
  // formats, CheckBlocks for block tables.) What depends on more is refused:
  // PadMode::kTrim, kUnpadIndices, formats for each segment or sequence, and
  // loss weights, without max_segments, formats for each row without row_width.
  bool replayed = false;
};

// Bytes of the table of a layout with up to `max_segments` segments, which are
// from 1 to kMaxBatchTokens, else INVALID_ARGUMENT.
absl::StatusOr<int64_t> CudaTableBytes(int64_t max_segments);

// Writes the table to `data`, memory of the host with CudaTableBytes at a
// multiple of 16. INVALID_ARGUMENT, with nothing written, where the layout has
// more than `max_segments`, these are out of range, `data` is null or not at
// such a multiple, or `bytes` are too few.
absl::Status WriteCudaTable(const BatchLayout& layout, int64_t max_segments,
                            void* data, int64_t bytes);

// Bytes of the workspace that FillOnCuda needs where it has to count targets,
// which is for kLossWeights and kTargets with sources; none is needed else.
int64_t CudaWorkspaceBytes(const BatchLayout& layout,
                           const FormatOptions& options);

// As Fill, with outputs and sources on one CUDA device (or in managed memory).
// INVALID_ARGUMENT as there (but that no value of a source is looked at: of one
// of 64 bits an output of 32 gets the low ones), with nothing launched; also
// where they are on
// several devices, the format is made on the host only, memory is missing or
// too small. UNIMPLEMENTED without CUDA. INTERNAL with the error of CUDA where
// a launch fails. The current device is what it was before.
absl::Status FillOnCuda(const BatchLayout& layout, const FormatOptions& options,
                        const Sources& sources,
                        absl::Span<const Output> outputs,
                        const CudaMemory& memory, CudaStream stream);

// As FillEqualityMask, likewise.
absl::Status FillEqualityMaskOnCuda(const Tensor& ids, Mask mask,
                                    const DenseOptions& options,
                                    const Tensor& output, CudaStream stream);

}  // namespace packhouse

#endif  // PACKHOUSE_CUDA_H_
