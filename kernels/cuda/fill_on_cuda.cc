#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"
#include "kernels/cuda/launch.h"
#include "kernels/fill_plan.h"
#include "packhouse/cuda.h"

namespace packhouse {
namespace {

constexpr int64_t kAlignment = 16;

absl::Status StatusOf(const CudaResult& result) {
  if (result.ok()) return absl::OkStatus();
  if (result.code == CudaResult::kNotBuilt) {
    return absl::UnimplementedError(
        "this build of Packhouse has no CUDA kernels: it found no nvcc");
  }
  return absl::InternalError(absl::StrCat("CUDA: ", result.name, " (",
                                          result.code, "): ", result.message));
}

bool IsAlignedTo16(const void* at) {
  return reinterpret_cast<uintptr_t>(at) % kAlignment == 0;
}

// The device that all are on.
class CommonDevice {
 public:
  absl::Status Add(absl::string_view name, const Tensor& tensor) {
    if (!index_.has_value()) index_ = tensor.device.index;
    if (*index_ == tensor.device.index) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is on CUDA device ", tensor.device.index,
                     ", others are on ", *index_));
  }
  int index() const { return index_.value_or(0); }

 private:
  absl::optional<int32_t> index_;
};

absl::StatusOr<int> DeviceOf(const Sources& sources,
                             absl::Span<const Output> outputs) {
  CommonDevice device;
  for (const Output& output : outputs) {
    absl::Status status = device.Add(FormatName(output.format), output.tensor);
    if (!status.ok()) return status;
  }
  for (const absl::optional<Tensor>* source :
       {&sources.tokens, &sources.labels}) {
    if (!source->has_value()) continue;
    absl::Status status = device.Add("a source", **source);
    if (!status.ok()) return status;
  }
  return device.index();
}

// Whether arrays of this format stay what they are from batch to batch.
absl::Status CheckReplayed(const BatchLayout& layout,
                           const FormatOptions& options, Format format) {
  const auto refused = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        FormatName(format), ": a graph cannot be replayed, ", why));
  };
  if (layout.pad_mode() == PadMode::kTrim) {
    return refused("the tokens of a trimmed batch differ each time");
  }
  if (format == Format::kUnpadIndices) {
    return refused("its size differs each time");
  }
  // Weights are not sized so, but their workspace is.
  const bool of_segments =
      IsSizedBySegments(format) || format == Format::kLossWeights;
  if (of_segments && options.max_segments == 0) {
    return refused("its size differs each time: set max_segments");
  }
  if (IsSizedByRowWidth(format) && options.row_width == 0) {
    return refused("its size differs each time: set row_width");
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const BatchLayout& layout,
                         const FormatOptions& options,
                         absl::Span<const Output> outputs,
                         const CudaMemory& memory) {
  if (memory.table == nullptr && layout.segments() > kMaxInlineSegments) {
    return absl::InvalidArgumentError(
        absl::StrCat(layout.segments(),
                     " segments need a table in the memory of the "
                     "device: without one there may be ",
                     kMaxInlineSegments));
  }
  if (!IsAlignedTo16(memory.table) || !IsAlignedTo16(memory.workspace)) {
    return absl::InvalidArgumentError(
        "the table and the workspace have to be at multiples of 16 bytes");
  }
  if (!memory.replayed) return absl::OkStatus();
  if (memory.table == nullptr) {
    return absl::InvalidArgumentError(
        "a graph that is replayed needs a table in the memory of the device");
  }
  for (const Output& output : outputs) {
    absl::Status status = CheckReplayed(layout, options, output.format);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

int64_t CountedSequences(const BatchLayout& layout,
                         const FormatOptions& options) {
  return options.max_segments > 0 ? options.max_segments : layout.sequences();
}

absl::Status CheckBlocksOfGrid(int64_t blocks) {
  if (blocks <= INT32_MAX) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "a kernel would need ", blocks, " blocks, CUDA has ", INT32_MAX));
}

absl::Status CheckGrids(const FillPlan& plan) {
  absl::Status status;
  const auto check = [&](const auto& jobs) {
    for (const auto& job : jobs) status.Update(CheckBlocksOfGrid(job.blocks()));
  };
  check(plan.arrays);
  check(plan.blocks);
  check(plan.dense);
  return status;
}

}  // namespace

absl::StatusOr<int64_t> CudaTableBytes(int64_t max_segments) {
  if (max_segments < 1 || max_segments > kMaxBatchTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat("max_segments is ", max_segments,
                     ", it must be from 1 to ", kMaxBatchTokens));
  }
  return static_cast<int64_t>(sizeof(CudaTableHeader)) +
         (max_segments + 1) * static_cast<int64_t>(sizeof(Segment));
}

absl::Status WriteCudaTable(const BatchLayout& layout, int64_t max_segments,
                            void* data, int64_t bytes) {
  absl::StatusOr<int64_t> wanted = CudaTableBytes(max_segments);
  if (!wanted.ok()) return wanted.status();
  if (layout.segments() > max_segments) {
    return absl::InvalidArgumentError(
        absl::StrCat("the batch has ", layout.segments(),
                     " segments, max_segments is ", max_segments));
  }
  if (bytes < *wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("a table of ", max_segments, " segments takes ", *wanted,
                     " bytes, there are ", bytes));
  }
  if (data == nullptr) {
    return absl::InvalidArgumentError("there is no memory for the table: null");
  }
  if (!IsAlignedTo16(data)) {
    return absl::InvalidArgumentError(
        "the table has to be at a multiple of 16 bytes");
  }
  const SegmentTable table = layout.table();
  const CudaTableHeader header = {table.count, table.rows, table.row_tokens,
                                  table.positions_run_on ? 1 : 0};
  char* const at = static_cast<char*>(data);
  std::memcpy(at, &header, sizeof(header));
  std::memcpy(at + sizeof(header), table.segments,
              sizeof(Segment) * (static_cast<size_t>(table.count) + 1));
  return absl::OkStatus();
}

int64_t CudaWorkspaceBytes(const BatchLayout& layout,
                           const FormatOptions& options) {
  return CountedSequences(layout, options) * kTargetLanes *
         static_cast<int64_t>(sizeof(int32_t));
}

absl::Status FillOnCuda(const BatchLayout& layout, const FormatOptions& options,
                        const Sources& sources,
                        absl::Span<const Output> outputs,
                        const CudaMemory& memory, CudaStream stream) {
  absl::StatusOr<FillPlan> plan =
      PlanFill(Side::kCuda, layout, options, sources, outputs);
  if (!plan.ok()) return plan.status();
  absl::Status status = CheckMemory(layout, options, outputs, memory);
  status.Update(CheckGrids(*plan));
  if (!status.ok()) return status;
  absl::StatusOr<int> device = DeviceOf(sources, outputs);
  if (!device.ok()) return device.status();
  const int64_t workspace = CudaWorkspaceBytes(layout, options);
  if (plan->counts_targets && workspace > memory.workspace_bytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the workspace has ", memory.workspace_bytes,
                     " bytes, counting targets takes ", workspace));
  }

  const TableSource table = {static_cast<const CudaTableHeader*>(memory.table),
                             layout.table()};
  // After one that failed, no more.
  const auto launch = [&](const auto& job) {
    if (status.ok()) status = StatusOf(Launch(*device, job, table, stream));
  };
  for (ArraysJob& job : plan->arrays) {
    if (plan->counts_targets) {
      int32_t* const counts = static_cast<int32_t*>(memory.workspace);
      const TargetsJob targets = {
          job.context, static_cast<int32_t>(CountedSequences(layout, options)),
          counts};
      launch(targets);
      job.context.target_counts = counts;
      job.context.target_lanes = kTargetLanes;
    }
    launch(job);
  }
  for (const BlocksJob& job : plan->blocks) launch(job);
  for (const DenseJob& job : plan->dense) launch(job);
  return status;
}

absl::Status FillEqualityMaskOnCuda(const Tensor& ids, Mask mask,
                                    const DenseOptions& options,
                                    const Tensor& output, CudaStream stream) {
  absl::StatusOr<EqualityJob> job =
      PlanEquality(Side::kCuda, ids, mask, options, output);
  if (!job.ok()) return job.status();
  if (absl::Status status = CheckBlocksOfGrid(job->blocks()); !status.ok()) {
    return status;
  }
  CommonDevice device;
  absl::Status status = device.Add("the ids", ids);
  status.Update(device.Add("the mask", output));
  if (!status.ok()) return status;
  return StatusOf(LaunchEquality(device.index(), *job, stream));
}

}  // namespace packhouse
