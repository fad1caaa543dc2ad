#include "session/token_sums.h"

namespace packhouse {
namespace {

uint64_t Sum(absl::Span<const uint32_t> lengths) {
  uint64_t sum = 0;
  for (const uint32_t length : lengths) sum += length;
  return sum;
}

// The sum of packhouse::Footprint. A division for each length (2 ns) would be
// most of what a session costs. Requires lengths from 1 to kMaxCapacityTokens.
uint64_t SumFootprints(absl::Span<const uint32_t> lengths, int64_t alignment) {
  // With length - 1 = q * alignment + r, the product below is
  // q + (r + 0.5) / alignment. It is at least 0.5 / alignment away from the
  // next integer, and rounding is off by less than q * 2^-51 with
  // q < 2^31 / alignment: so the integer part is exactly q.
  const double inverse = 1.0 / static_cast<double>(alignment);
  uint64_t units = lengths.size();
  for (const uint32_t length : lengths) {
    const double before = static_cast<int32_t>(length) - 0.5;
    units += static_cast<uint32_t>(static_cast<int32_t>(before * inverse));
  }
  return units * static_cast<uint64_t>(alignment);
}

}  // namespace

TokenSums SumTokens(const PackSpec& spec, absl::Span<const uint32_t> lengths) {
  TokenSums sums;
  sums.tokens = Sum(lengths);
  sums.footprint_tokens = spec.sequence_alignment == 1
                              ? sums.tokens
                              : SumFootprints(lengths, spec.sequence_alignment);
  return sums;
}

}  // namespace packhouse
