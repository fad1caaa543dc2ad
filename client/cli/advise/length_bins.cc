#include "client/cli/advise/length_bins.h"

#include <cmath>

namespace packhouse {
namespace {

// Where the range with this number begins, `per_doubling` of them from 1 to 2.
// 1 to 2 in parts leaves some ranges without an integer: they are empty.
uint64_t Edge(size_t number, size_t per_doubling) {
  return static_cast<uint64_t>(std::ceil(std::exp2(
      static_cast<double>(number) / static_cast<double>(per_doubling))));
}

std::vector<LengthBin> BinsOf(absl::Span<const LengthCount> lengths,
                              size_t per_doubling) {
  std::vector<LengthBin> bins;
  auto it = lengths.begin();
  while (it != lengths.end() && it->length == 0) ++it;
  for (size_t number = 0; it != lengths.end(); ++number) {
    const uint64_t begin = Edge(number, per_doubling);
    const uint64_t end = Edge(number + 1, per_doubling);
    if (begin == end) continue;
    LengthBin bin = {static_cast<uint32_t>(begin),
                     static_cast<uint32_t>(end - 1), 0, 0};
    for (; it != lengths.end() && it->length < end; ++it) {
      bin.sequences += it->count;
      bin.tokens += it->count * it->length;
    }
    if (bin.sequences > 0 || !bins.empty()) bins.push_back(bin);
  }
  if (!bins.empty()) bins.back().longest = lengths.back().length;
  return bins;
}

}  // namespace

std::vector<LengthBin> LengthBins(absl::Span<const LengthCount> lengths,
                                  size_t max_bins) {
  for (const size_t per_doubling : {8, 4, 2}) {
    std::vector<LengthBin> bins = BinsOf(lengths, per_doubling);
    if (bins.size() <= max_bins) return bins;
  }
  return BinsOf(lengths, 1);
}

uint32_t Quantile(absl::Span<const LengthCount> lengths, double share) {
  uint64_t sequences = 0;
  for (const LengthCount& c : lengths) sequences += c.count;
  const double needed = share * static_cast<double>(sequences);
  uint64_t seen = 0;
  for (const LengthCount& c : lengths) {
    seen += c.count;
    if (static_cast<double>(seen) >= needed) return c.length;
  }
  return lengths.back().length;
}

}  // namespace packhouse
