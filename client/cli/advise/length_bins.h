// Figures of a histogram of lengths, for people to look at.

#ifndef PACKHOUSE_CLIENT_CLI_ADVISE_LENGTH_BINS_H_
#define PACKHOUSE_CLIENT_CLI_ADVISE_LENGTH_BINS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "packhouse/histogram.h"

namespace packhouse {

// A range of lengths, both ends in it.
struct LengthBin {
  uint32_t shortest;
  uint32_t longest;
  uint64_t sequences;
  uint64_t tokens;
};

// The lengths above 0 in ranges that grow with the length: 8, 4, 2 or 1 for
// each doubling, the most that give at most `max_bins` (1 for each doubling may
// give more, 32). From the first range that has a sequence to the last, which
// ends with the longest length. Requires lengths that ascend.
std::vector<LengthBin> LengthBins(absl::Span<const LengthCount> lengths,
                                  size_t max_bins);

// The smallest length that at least this share, above 0, of the sequences do
// not exceed. Requires lengths that ascend and a sequence.
uint32_t Quantile(absl::Span<const LengthCount> lengths, double share);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_ADVISE_LENGTH_BINS_H_
