#include "session/unit_ledger.h"

#include <algorithm>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "packhouse/policy.h"

namespace packhouse {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

PackSpec Spec(Overlong overlong, int64_t capacity) {
  PackSpec spec;
  spec.capacity_tokens = capacity;
  spec.overlong = overlong;
  spec.empty = Empty::kDrop;
  return spec;
}

TEST(UnitLedger, TakesEachUnitOnce) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    const PackSpec spec =
        Spec(static_cast<Overlong>(1 + random() % 4), 1 + random() % 20);
    std::vector<uint32_t> lengths(random() % 60);
    for (uint32_t& length : lengths) length = random() % 50;
    UnitLedger ledger(spec);
    ledger.Give(lengths);
    struct Unit {
      uint64_t ordinal;
      uint32_t source_offset;
    };
    std::vector<Unit> units;
    for (uint64_t i = 0; i < lengths.size(); ++i) {
      for (uint32_t u = 0; u < UnitCount(spec, lengths[i]); ++u) {
        units.push_back({i, UnitOffset(spec, lengths[i], u)});
      }
    }
    EXPECT_EQ(ledger.sequences(), lengths.size());
    EXPECT_EQ(ledger.units(), units.size());
    std::shuffle(units.begin(), units.end(), random);
    for (const Unit& unit : units) {
      ASSERT_THAT(ledger.Receive(unit.ordinal, unit.source_offset), IsEmpty());
      if (random() % 4 == 0) ledger.Trim();
    }
    // Nothing is due any more, dropped ones never were.
    for (uint64_t i = 0; i < lengths.size(); ++i) {
      EXPECT_THAT(ledger.Receive(i, 0), HasSubstr("which an earlier pack had"));
    }
  }
}

TEST(UnitLedger, RefusesOffsetsWhereNoUnitBegins) {
  UnitLedger split(Spec(Overlong::kSplit, 10));
  split.Give({25, 4});
  for (const uint32_t offset : {1u, 9u, 11u, 25u, 30u, ~0u}) {
    EXPECT_THAT(split.Receive(0, offset), HasSubstr("where no unit begins"));
  }
  EXPECT_THAT(split.Receive(1, 10), HasSubstr("from token 10, where no unit"));
  UnitLedger head(Spec(Overlong::kTruncateHead, 10));
  head.Give({25});
  EXPECT_THAT(head.Receive(0, 0), HasSubstr("where no unit begins"));
  EXPECT_THAT(head.Receive(0, 15), IsEmpty());
}

}  // namespace
}  // namespace packhouse
