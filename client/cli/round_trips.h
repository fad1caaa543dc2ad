// How long many things took, in a table of fixed size: a run of any length can
// be kept, and those of many streams added up.
//
// Times are counted in ranges whose width is at most 1/128 of their value, so a
// quantile is at most 0.8 % above what a sorted list would say, and never
// below.

#ifndef PACKHOUSE_CLIENT_CLI_ROUND_TRIPS_H_
#define PACKHOUSE_CLIENT_CLI_ROUND_TRIPS_H_

#include <array>
#include <cstddef>
#include <cstdint>

namespace packhouse {

class RoundTrips {
 public:
  // Times over an hour count as one.
  void Add(uint64_t nanoseconds);

  RoundTrips& operator+=(const RoundTrips& other);

  uint64_t count() const { return count_; }

  // The longest, exactly; 0 where there is none.
  uint64_t max_ns() const { return max_ns_; }

  // The least time that at least this share of all, from 0 to 1, did not
  // exceed; 0 where there is none.
  uint64_t QuantileNs(double share) const;

 private:
  // Each power of two is cut into so many ranges; below it, times are exact.
  static constexpr int kRangeBits = 7;
  static constexpr uint64_t kRanges = uint64_t{1} << kRangeBits;
  static constexpr int kMaxBits = 42;  // 2^42 ns are 73 minutes
  static constexpr uint64_t kLimitNs = uint64_t{3600} * 1000 * 1000 * 1000;

  static size_t RangeOf(uint64_t nanoseconds);
  static uint64_t LastOf(size_t range);

  std::array<uint32_t, kRanges*(kMaxBits - kRangeBits + 1)> counts_{};
  uint64_t count_ = 0;
  uint64_t max_ns_ = 0;
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_ROUND_TRIPS_H_
