#include "packhouse/spec.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/status_matchers.h"

namespace packhouse {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

PackSpec Valid() {
  PackSpec spec;
  spec.capacity_tokens = 512;
  return spec;
}

TEST(ValidateSpec, AcceptsTheLimits) {
  EXPECT_THAT(ValidateSpec(Valid()), IsOk());
  PackSpec spec;
  spec.capacity_tokens = kMaxCapacityTokens;
  spec.window_sequences = kMaxWindowSequences;
  spec.max_sequences_per_pack = kMaxSequencesPerPack;
  spec.sequence_alignment = kMaxCapacityTokens;
  EXPECT_THAT(ValidateSpec(spec), IsOk());
  spec = Valid();
  spec.capacity_tokens = 1;
  spec.window_sequences = 1;
  EXPECT_THAT(ValidateSpec(spec), IsOk());
}

TEST(ValidateSpec, NamesEveryViolationAtOnce) {
  PackSpec spec;
  spec.capacity_tokens = int64_t{1} << 31;
  spec.algorithm = "first-fit";
  spec.window_sequences = 0;
  spec.max_sequences_per_pack = -1;
  spec.sequence_alignment = 0;
  EXPECT_THAT(
      ValidateSpec(spec),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("capacity_tokens is 2147483648, it must be from "
                               "1 to 2147483647"),
                     HasSubstr("algorithm is \"first-fit\", the known ones are "
                               "spfhp, lpfhp"),
                     HasSubstr("window_sequences is 0"),
                     HasSubstr("max_sequences_per_pack is -1"),
                     HasSubstr("sequence_alignment is 0"))));
}

TEST(ValidateSpec, AlignmentIsHeldAgainstTheCapacity) {
  PackSpec spec = Valid();
  spec.sequence_alignment = 513;
  EXPECT_THAT(ValidateSpec(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("sequence_alignment is 513"),
                             HasSubstr("from 1 to 512"))));
  spec.capacity_tokens = 0;  // the mistake is the capacity, and only that
  EXPECT_THAT(ValidateSpec(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       Not(HasSubstr("sequence_alignment"))));
}

TEST(ValidateSpec, AFieldOfOneRuleIsRefusedWithAnother) {
  PackSpec spec = Valid();
  spec.effort = Effort::kFast;
  spec.max_displacement = 5;
  spec.budget_seconds = 2;
  EXPECT_THAT(ValidateSpec(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("effort is of sliding only"),
                             HasSubstr("max_displacement is of sliding only"),
                             HasSubstr("budget_seconds is of best only"),
                             HasSubstr("algorithm is \"spfhp\""))));
}

TEST(ValidateSpec, NewFieldsHaveRanges) {
  PackSpec spec = Valid();
  spec.overlong = static_cast<Overlong>(5);
  spec.empty = static_cast<Empty>(-1);
  spec.effort = static_cast<Effort>(3);
  spec.max_displacement = -1;
  spec.budget_seconds = std::nan("");
  EXPECT_THAT(ValidateSpec(spec),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("overlong is number 5, the known ones "
                                       "are error, drop, truncate"),
                             HasSubstr("empty is number -1"),
                             HasSubstr("effort is number 3"),
                             HasSubstr("max_displacement is -1"),
                             HasSubstr("budget_seconds is nan"))));
}

TEST(ValidateSpec, ALongNameMakesAShortError) {
  PackSpec spec = Valid();
  spec.algorithm = std::string(100000, 'x');
  EXPECT_THAT(ValidateSpec(spec), StatusIs(absl::StatusCode::kInvalidArgument,
                                           HasSubstr("100000 bytes")));
}

TEST(AlgorithmNames, TheOnlineOnesComeFirst) {
  const std::vector<std::string> names = AlgorithmNames();
  EXPECT_TRUE(std::is_partitioned(
      names.begin(), names.end(),
      [](const std::string& name) { return IsOnline(name); }));
  EXPECT_EQ(names.front(), PackSpec().algorithm);
  EXPECT_FALSE(IsOnline("no such rule"));
}

TEST(Footprint, RoundsUp) {
  PackSpec spec = Valid();
  EXPECT_EQ(Footprint(spec, 5), 5u);
  spec.sequence_alignment = 16;
  EXPECT_EQ(Footprint(spec, 1), 16u);
  EXPECT_EQ(Footprint(spec, 16), 16u);
  EXPECT_EQ(Footprint(spec, 17), 32u);
  EXPECT_EQ(Footprint(spec, 4294967295u), 4294967296u);
}

TEST(CheckLengths, HoldsFootprintsAgainstTheCapacity) {
  PackSpec spec = Valid();
  EXPECT_THAT(CheckLengths(spec, {}, 0), IsOk());
  EXPECT_THAT(CheckLengths(spec, {1, 512}, 0), IsOk());
  EXPECT_THAT(CheckLengths(spec, {513}, 0),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("ordinal 0 has length 513 > capacity 512")));
  spec.capacity_tokens = 510;
  spec.sequence_alignment = 16;  // 496 is the longest that fits
  EXPECT_THAT(CheckLengths(spec, {496}, 0), IsOk());
  EXPECT_THAT(
      CheckLengths(spec, {1, 497}, 40),
      StatusIs(absl::StatusCode::kInvalidArgument,
               HasSubstr(
                   "ordinal 41 has length 497, footprint 512 > capacity 510")));
}

TEST(CheckLengths, LargestLengthsDoNotWrap) {
  PackSpec spec;
  spec.capacity_tokens = kMaxCapacityTokens;
  EXPECT_THAT(CheckLengths(spec, {2147483647u}, 0), IsOk());
  EXPECT_THAT(
      CheckLengths(spec, {2147483648u, 4294967295u, 0}, 0),
      StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("3 of 3")));
}

TEST(CheckLengths, TenThousandOffendersMakeAShortError) {
  const std::vector<uint32_t> lengths(10000, 4000000000u);
  EXPECT_THAT(
      CheckLengths(Valid(), lengths, 0),
      StatusIs(absl::StatusCode::kInvalidArgument,
               AllOf(HasSubstr("10000 of 10000"), HasSubstr("ordinal 4 "),
                     HasSubstr("9995 more"), Not(HasSubstr("ordinal 5 ")))));
}

}  // namespace
}  // namespace packhouse
