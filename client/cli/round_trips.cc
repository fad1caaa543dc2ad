#include "client/cli/round_trips.h"

#include <algorithm>
#include <cmath>

namespace packhouse {

void RoundTrips::Add(uint64_t nanoseconds) {
  nanoseconds = std::min(nanoseconds, kLimitNs);
  ++counts_[RangeOf(nanoseconds)];
  ++count_;
  max_ns_ = std::max(max_ns_, nanoseconds);
}

RoundTrips& RoundTrips::operator+=(const RoundTrips& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
  return *this;
}

uint64_t RoundTrips::QuantileNs(double share) const {
  const double wanted = std::ceil(share * static_cast<double>(count_));
  uint64_t seen = 0;
  for (size_t range = 0; range < counts_.size(); ++range) {
    seen += counts_[range];
    if (seen > 0 && static_cast<double>(seen) >= wanted) {
      return std::min(LastOf(range), max_ns_);
    }
  }
  return max_ns_;
}

// Below kRanges a time is its own range. From there on `shift` is how many of
// its low bits do not count, and what is left of it lies in [kRanges,
// 2 * kRanges).
size_t RoundTrips::RangeOf(uint64_t nanoseconds) {
  int shift = 0;
  while ((nanoseconds >> shift) >= 2 * kRanges) ++shift;
  return static_cast<size_t>(shift) * kRanges + (nanoseconds >> shift);
}

uint64_t RoundTrips::LastOf(size_t range) {
  if (range < 2 * kRanges) return range;
  const int shift = static_cast<int>(range / kRanges) - 1;
  const uint64_t kept = kRanges + range % kRanges;
  return ((kept + 1) << shift) - 1;
}

}  // namespace packhouse
