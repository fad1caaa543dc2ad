#include "session/ordinal_set.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace packhouse {
namespace {

TEST(OrdinalSetTest, InsertsEachOrdinalOnce) {
  OrdinalSet set;
  for (const uint64_t ordinal : {0, 63, 64, 1, 1000, 62}) {
    EXPECT_TRUE(set.Insert(ordinal)) << ordinal;
    EXPECT_FALSE(set.Insert(ordinal)) << ordinal;
  }
}

TEST(OrdinalSetTest, RemembersOrdinalsWhoseMemoryIsGone) {
  OrdinalSet set;
  for (uint64_t ordinal = 0; ordinal < 1000; ++ordinal) set.Insert(ordinal);
  set.Trim();
  EXPECT_EQ(set.memory_words(), 1u);  // 960 to 1023
  for (uint64_t ordinal = 0; ordinal < 1000; ++ordinal) {
    EXPECT_FALSE(set.Insert(ordinal)) << ordinal;
  }
  EXPECT_TRUE(set.Insert(1000));
}

TEST(OrdinalSetTest, AMissingOrdinalKeepsWhatIsAboveIt) {
  OrdinalSet set;
  for (uint64_t ordinal = 1; ordinal < 6400; ++ordinal) set.Insert(ordinal);
  set.Trim();
  EXPECT_EQ(set.memory_words(), 100u);
  EXPECT_TRUE(set.Insert(0));
  set.Trim();
  EXPECT_EQ(set.memory_words(), 0u);
}

// Against std::set, on streams that come in windows of shuffled ordinals with
// some that come twice.
TEST(OrdinalSetTest, AgreesWithAPlainSetInMemoryOfOneWindow) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    const uint64_t window = 1 + random() % 1000;
    OrdinalSet set;
    std::set<uint64_t> plain;
    for (uint64_t first = 0; first < 20000; first += window) {
      std::vector<uint64_t> ordinals(window);
      std::iota(ordinals.begin(), ordinals.end(), first);
      std::shuffle(ordinals.begin(), ordinals.end(), random);
      for (const uint64_t ordinal : ordinals) {
        ASSERT_EQ(set.Insert(ordinal), plain.insert(ordinal).second);
        const uint64_t other = random() % (first + window);
        ASSERT_EQ(set.Insert(other), plain.insert(other).second);
      }
      set.Trim();
      // What is full goes once it is as large as the rest, of a window or two.
      ASSERT_LE(set.memory_words(), 2 * (window / 64 + 2));
    }
  }
}

}  // namespace
}  // namespace packhouse
