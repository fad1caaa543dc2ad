#include "packing/footprint_sort.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/numeric/bits.h"

namespace packhouse {
namespace {

// A digit has at most 13 bits, so that its counters fill 32 kB and three digits
// cover 32 bits, and at most about two values for each unit.
constexpr uint32_t kMaxDigitBits = 13;
constexpr uint32_t kMinDigitBits = 8;
using Counters = std::array<uint32_t, 1u << kMaxDigitBits>;

uint32_t Width(uint32_t value) {
  return 32 - static_cast<uint32_t>(absl::countl_zero(value));
}

// From how often each digit occurs to where its first unit goes, the largest
// digit first.
void CountsToPlaces(Counters* counters, uint32_t digits) {
  uint32_t place = 0;
  for (uint32_t digit = digits; digit-- > 0;) {
    place += std::exchange((*counters)[digit], place);
  }
}

}  // namespace

absl::Span<const SortedUnit> FootprintSort::Descending(
    absl::Span<const uint32_t> footprints) {
  const uint32_t n = static_cast<uint32_t>(footprints.size());
  units_.resize(n);
  uint32_t longest = 0;
  for (uint32_t footprint : footprints) longest = std::max(longest, footprint);

  const uint32_t bits = Width(longest);
  const uint32_t digit_bits =
      std::clamp(Width(n), kMinDigitBits, kMaxDigitBits);
  const uint32_t passes = std::max(1u, (bits + digit_bits - 1) / digit_bits);
  const uint32_t width = (bits + passes - 1) / passes;
  const uint32_t mask = (1u << width) - 1;

  Counters counters;
  const auto count = [&](uint32_t shift) {
    std::fill_n(counters.begin(), mask + 1, 0);
    for (uint32_t footprint : footprints) {
      ++counters[(footprint >> shift) & mask];
    }
  };
  count(0);
  CountsToPlaces(&counters, mask + 1);
  for (uint32_t i = 0; i < n; ++i) {
    units_[counters[footprints[i] & mask]++] = {footprints[i], i};
  }
  for (uint32_t shift = width; shift < bits; shift += width) {
    count(shift);
    if (n > 0 && counters[(longest >> shift) & mask] == n) continue;
    CountsToPlaces(&counters, mask + 1);
    scratch_.resize(n);
    for (const SortedUnit& unit : units_) {
      scratch_[counters[(unit.footprint >> shift) & mask]++] = unit;
    }
    units_.swap(scratch_);
  }
  return units_;
}

}  // namespace packhouse
