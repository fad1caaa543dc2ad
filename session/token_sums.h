// Sums over lengths, as sessions and metrics count them.

#ifndef PACKHOUSE_SESSION_TOKEN_SUMS_H_
#define PACKHOUSE_SESSION_TOKEN_SUMS_H_

#include <cstdint>

#include "absl/types/span.h"
#include "packhouse/spec.h"

namespace packhouse {

struct TokenSums {
  uint64_t tokens = 0;
  uint64_t footprint_tokens = 0;  // each length rounded up to the alignment
};

// Requires a valid spec and lengths that CheckLengths accepts.
TokenSums SumTokens(const PackSpec& spec, absl::Span<const uint32_t> lengths);

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_TOKEN_SUMS_H_
