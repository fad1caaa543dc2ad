// Formats that need a sum over the segments before: made on the host, where the
// few segments of a batch are walked in no time.

#ifndef PACKHOUSE_KERNELS_HOST_FORMATS_H_
#define PACKHOUSE_KERNELS_HOST_FORMATS_H_

#include <cstdint>

#include "packhouse/batch_layout.h"
#include "packhouse/fill.h"

namespace packhouse {

// Sum over the segments of ceil(tokens / chunk_tokens).
int64_t CountChunks(const BatchLayout& layout, int64_t chunk_tokens);

// Bytes of Format::kPackedMask: the sum of ceil(tokens^2 / 8). Absent where
// offsets of 32 bits do not reach that far.
absl::optional<int64_t> PackedMaskBytes(const BatchLayout& layout);

// Writes a format of FormatKind::kHostOnly, whose elements have `bytes` bytes.
void FillOnHost(const BatchLayout& layout, const FormatOptions& options,
                Format format, void* data, int32_t bytes);

}  // namespace packhouse

#endif  // PACKHOUSE_KERNELS_HOST_FORMATS_H_
