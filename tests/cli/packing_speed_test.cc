#include "client/cli/packing_speed.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/plan.h"

namespace packhouse {
namespace {

using testing::HasSubstr;

TEST(PackingSpeedTest, SyntheticLengthsAreLogNormalAndAlwaysTheSame) {
  std::vector<uint32_t> lengths = SyntheticLengths();
  EXPECT_EQ(lengths, SyntheticLengths());
  ASSERT_EQ(lengths.size(), 262144);
  std::sort(lengths.begin(), lengths.end());
  EXPECT_GE(lengths.front(), 1);
  EXPECT_LE(lengths.back(), 8192);
  // Median and the points one and two deviations of the logarithm away.
  const auto at = [&](double share) {
    return lengths[static_cast<size_t>(share * 262144)];
  };
  EXPECT_NEAR(at(0.5), 512, 8);
  EXPECT_NEAR(at(0.158655), 512 / std::exp(1), 5);
  EXPECT_NEAR(at(0.841345), 512 * std::exp(1), 25);
  EXPECT_NEAR(at(0.977250), 512 * std::exp(2), 120);
}

TEST(PackingSpeedTest, EveryOnlineRuleIsMeasured) {
  const std::vector<uint32_t> lengths = {5, 3, 4, 4, 8, 9, 2};
  SpeedQuery query;
  query.limits.capacity_tokens = 8;
  query.limits.window_sequences = 4;
  const std::vector<SpeedRow> rows = *MeasurePacking(lengths, query);
  auto row = rows.begin();
  for (const std::string& rule : AlgorithmNames()) {
    if (!IsOnline(rule)) continue;
    for (int effort = 0; effort < (rule == "sliding" ? 3 : 1); ++effort) {
      ASSERT_NE(row, rows.end());
      EXPECT_EQ(row->spec.algorithm, rule);
      EXPECT_GE(row->repetitions, 3);
      EXPECT_GT(row->best_seconds, 0);
      EXPECT_GE(row->median_seconds, row->best_seconds);
      const uint64_t packs = Plan(lengths, row->spec)->size();
      EXPECT_EQ(row->packs, packs);
      // The 9 is dropped.
      EXPECT_DOUBLE_EQ(*row->efficiency,
                       26.0 / (8 * static_cast<double>(packs)));
      ++row;
    }
  }
  EXPECT_EQ(row, rows.end());
}

TEST(PackingSpeedTest, RulesAreChecked) {
  SpeedQuery query;
  query.algorithms = {"lpfhp", "nobody"};
  EXPECT_THAT(MeasurePacking({1}, query).status().message(),
              HasSubstr("\"nobody\""));
  for (const std::string& rule : AlgorithmNames()) {
    if (IsOnline(rule)) continue;
    query.algorithms = {rule};
    EXPECT_THAT(MeasurePacking({1}, query).status().message(),
                HasSubstr("whole lists only"));
  }
}

}  // namespace
}  // namespace packhouse
