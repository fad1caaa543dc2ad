#include "kernels/host_formats.h"

#include <cstring>

#include "kernels/jobs.h"

namespace packhouse {
namespace {

int64_t CeilDiv64(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Writes elements one after another.
class Writer {
 public:
  Writer(void* data, int32_t bytes) : data_(data), bytes_(bytes) {}
  void Add(int64_t value) { StoreElement(data_, bytes_, next_++, value); }

 private:
  void* const data_;
  const int32_t bytes_;
  int64_t next_ = 0;
};

// The bits of one segment: query by query, key by key.
void PackSegment(const Segment& segment, Mask mask, uint8_t* bits) {
  const int64_t tokens = segment.attended();
  std::memset(bits, 0, static_cast<size_t>(CeilDiv64(tokens * tokens, 8)));
  for (int64_t q = 0; q < tokens; ++q) {
    const Interval keys =
        AllowedKeys(segment, mask, segment.begin + static_cast<int32_t>(q));
    for (int64_t k = keys.begin - segment.begin; k < keys.end - segment.begin;
         ++k) {
      const int64_t bit = q * tokens + k;
      bits[bit / 8] = static_cast<uint8_t>(bits[bit / 8] | 1u << (bit % 8));
    }
  }
}

int64_t PackedBytes(const Segment& segment) {
  const int64_t tokens = segment.attended();
  return CeilDiv64(tokens * tokens, 8);
}

}  // namespace

int64_t CountChunks(const BatchLayout& layout, int64_t chunk_tokens) {
  const SegmentTable table = layout.table();
  int64_t chunks = 0;
  for (int32_t s = 0; s < table.count; ++s) {
    chunks += CeilDiv64(table.segments[s].attended(), chunk_tokens);
  }
  return chunks;
}

absl::optional<int64_t> PackedMaskBytes(const BatchLayout& layout) {
  const SegmentTable table = layout.table();
  int64_t bytes = 0;
  for (int32_t s = 0; s < table.count; ++s) {
    bytes += PackedBytes(table.segments[s]);
    if (bytes > INT32_MAX) return absl::nullopt;
  }
  return bytes;
}

void FillOnHost(const BatchLayout& layout, const FormatOptions& options,
                Format format, void* data, int32_t bytes) {
  const SegmentTable table = layout.table();
  Writer out(data, bytes);
  int64_t sum = 0;
  for (int32_t s = 0; s < table.count; ++s) {
    const Segment& segment = table.segments[s];
    const int64_t chunks = CeilDiv64(segment.attended(), options.chunk_tokens);
    switch (format) {
      case Format::kChunkIndices:
        for (int64_t chunk = 0; chunk < chunks; ++chunk) {
          out.Add(s);
          out.Add(chunk);
        }
        break;
      case Format::kChunkOffsets:
        out.Add(sum);
        sum += chunks;
        break;
      case Format::kTokenIndices:
        for (int32_t t = 0; t < segment.attended(); ++t) {
          out.Add(s);
          out.Add(t);
        }
        break;
      case Format::kQRanges:
      case Format::kKRanges:
        out.Add(segment.begin);
        out.Add(segment.attend_end);
        break;
      case Format::kAttnTypeMap:
        out.Add(options.mask.kind == MaskKind::kCausal ? 1 : 0);
        break;
      case Format::kPackedMask:
        PackSegment(segment, options.mask, static_cast<uint8_t*>(data) + sum);
        sum += PackedBytes(segment);
        break;
      case Format::kPackedMaskIndptr:
        out.Add(sum);
        sum += PackedBytes(segment);
        break;
      default:
        break;
    }
  }
  if (format == Format::kChunkOffsets || format == Format::kPackedMaskIndptr) {
    out.Add(sum);
  }
}

}  // namespace packhouse
