// A mask as a picture.

#ifndef PACKHOUSE_CLIENT_CLI_MASKS_MASK_PICTURE_H_
#define PACKHOUSE_CLIENT_CLI_MASKS_MASK_PICTURE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"
#include "packhouse/segment_table.h"

namespace packhouse {

// Rows of a batch that a picture shows at most.
inline constexpr int64_t kMaxPictureRows = 64;

// The dense mask of each row of the batch as one PNG file. Each is a square
// with a frame, the first query at the top, the first key on the left; they
// stand in lines from left to right. A pair is a square of several pixels, or a
// pixel is the mean of several pairs. Sequences have the colours of a cycle of
// eight, padding that attends is grey; what does not attend is white, or a very
// light grey where the query or the key is padding. With `blocks` lines show
// how they cut the mask, as far as blocks are larger than 3 pixels.
//
// INVALID_ARGUMENT where the batch has more than kMaxPictureRows. Requires a
// mask that formats of `layout` may have.
absl::StatusOr<std::string> MaskPng(const BatchLayout& layout,
                                    const FormatOptions& options,
                                    absl::optional<BlockShape> blocks);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_MASKS_MASK_PICTURE_H_
