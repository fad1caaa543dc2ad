#include "client/cli/round_trips.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace packhouse {
namespace {

constexpr uint64_t kHourNs = uint64_t{3600} * 1000 * 1000 * 1000;

// By the definition.
uint64_t Quantile(std::vector<uint64_t> times, double share) {
  std::sort(times.begin(), times.end());
  for (size_t i = 0; i < times.size(); ++i) {
    if (i + 1 >= share * times.size()) return times[i];
  }
  return times.back();
}

void ExpectQuantiles(const RoundTrips& trips,
                     const std::vector<uint64_t>& times) {
  ASSERT_EQ(trips.count(), times.size());
  EXPECT_EQ(trips.max_ns(), *std::max_element(times.begin(), times.end()));
  for (double share : {0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 1.0}) {
    const uint64_t right = Quantile(times, share);
    EXPECT_GE(trips.QuantileNs(share), right) << share;
    EXPECT_LE(trips.QuantileNs(share), right + right / 128) << share;
  }
}

TEST(RoundTripsTest, NoneHaveNoQuantile) {
  const RoundTrips trips;
  EXPECT_EQ(trips.count(), 0);
  EXPECT_EQ(trips.max_ns(), 0);
  EXPECT_EQ(trips.QuantileNs(0.5), 0);
}

TEST(RoundTripsTest, EveryTimeIsItsOwnQuantile) {
  std::vector<uint64_t> times = {kHourNs};
  for (uint64_t ns = 0; ns < 5000; ++ns) times.push_back(ns);
  for (int bit = 1; bit < 42; ++bit) {
    for (uint64_t ns : {-1, 0, 1}) {
      times.push_back(std::min((uint64_t{1} << bit) + ns, kHourNs));
    }
  }
  for (uint64_t time : times) {
    RoundTrips trips;
    trips.Add(time);
    ExpectQuantiles(trips, {time});
  }
}

TEST(RoundTripsTest, QuantilesAreThoseOfTheList) {
  std::mt19937_64 rng(1);
  for (size_t size : {1, 2, 3, 10, 99, 100, 101, 1000, 20000}) {
    std::lognormal_distribution<double> draw(11, 2);
    RoundTrips trips;
    std::vector<uint64_t> times;
    for (size_t i = 0; i < size; ++i) {
      times.push_back(static_cast<uint64_t>(draw(rng)));
      trips.Add(times.back());
    }
    ExpectQuantiles(trips, times);
  }
}

TEST(RoundTripsTest, SumsAreThoseOfBothLists) {
  RoundTrips all, more;
  std::vector<uint64_t> times;
  for (uint64_t i = 0; i < 1000; ++i) {
    times.push_back(i * i * i);
    (i % 3 == 0 ? all : more).Add(times.back());
  }
  all += more;
  ExpectQuantiles(all, times);
}

TEST(RoundTripsTest, NoTimeIsOverAnHour) {
  RoundTrips trips;
  trips.Add(~uint64_t{0});
  EXPECT_EQ(trips.QuantileNs(1), kHourNs);
}

}  // namespace
}  // namespace packhouse
