// A format as an array of values to print.

#ifndef PACKHOUSE_CLIENT_CLI_MASKS_MASK_ARRAY_H_
#define PACKHOUSE_CLIENT_CLI_MASKS_MASK_ARRAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"
#include "packhouse/tensor.h"

namespace packhouse {

// Elements that one command prints at most: a dense mask of 4096 tokens.
inline constexpr int64_t kMaxPrintedElements = int64_t{1} << 24;

class MaskArray {
 public:
  MaskArray(Format format, DType dtype, std::vector<int64_t> shape);

  Format format() const { return format_; }
  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int64_t elements() const { return Elements(shape_); }

  // Where Fill writes.
  Output output();

  // Element i as a number of JSON, but for minus infinity, which is -inf.
  // Booleans are 1 and 0.
  std::string Text(int64_t i) const;

 private:
  Format format_;
  DType dtype_;
  std::vector<int64_t> shape_;
  std::vector<uint64_t> memory_;  // aligned for every type
};

// The formats, filled. INVALID_ARGUMENT as of Fill, or where together they have
// more than kMaxPrintedElements.
absl::StatusOr<std::vector<MaskArray>> MakeMaskArrays(
    const BatchLayout& layout, const FormatOptions& options,
    const Sources& sources, absl::Span<const Format> formats,
    absl::optional<DType> dtype);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_MASKS_MASK_ARRAY_H_
