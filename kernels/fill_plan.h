// A checked request: the jobs that write it.

#ifndef PACKHOUSE_KERNELS_FILL_PLAN_H_
#define PACKHOUSE_KERNELS_FILL_PLAN_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "kernels/jobs.h"
#include "packhouse/fill.h"

namespace packhouse {

// How a format is made.
enum class FormatKind {
  kToken,     // ArraysJob, an element for each token
  kElement,   // ArraysJob, others
  kHostOnly,  // kernels/host_formats.h
  kBlocks,    // BlocksJob
  kDense,     // DenseJob
};
FormatKind KindOf(Format format);

// Whether it is made of Sources.
bool ReadsSources(Format format);

// Whether FormatOptions::max_segments, or row_width, is the size of it.
bool IsSizedBySegments(Format format);
bool IsSizedByRowWidth(Format format);

// Whether it has a line for each row, whose elements are RowValue.
bool HasLineForEachRow(Format format);

struct HostOutput {
  Format format;
  void* data;
  int32_t bytes;  // of an element
};

// Jobs whose tables point into the layout.
struct FillPlan {
  std::vector<ArraysJob> arrays;  // none or one
  std::vector<BlocksJob> blocks;  // none or one
  std::vector<DenseJob> dense;
  std::vector<HostOutput> host_only;
  // Of all outputs but those of the host only.
  int64_t bytes = 0;
  // Whether the targets of each sequence have to be counted first.
  bool counts_targets = false;
};

// Where the memory of a request has to be.
enum class Side { kHost, kCuda };

// Checks everything: as Fill says (packhouse/fill.h).
absl::StatusOr<FillPlan> PlanFill(Side side, const BatchLayout& layout,
                                  const FormatOptions& options,
                                  const Sources& sources,
                                  absl::Span<const Output> outputs);

// The same of FillEqualityMask.
absl::StatusOr<EqualityJob> PlanEquality(Side side, const Tensor& ids,
                                         Mask mask, const DenseOptions& options,
                                         const Tensor& output);

}  // namespace packhouse

#endif  // PACKHOUSE_KERNELS_FILL_PLAN_H_
