// What stays where it arrived and what leaves.

#include "server/work_cost.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "packhouse/spec.h"
#include "session/messages.h"

namespace packhouse {
namespace {

PackSpec Spec(const char* algorithm, int64_t window) {
  PackSpec spec;
  spec.capacity_tokens = 512;
  spec.algorithm = algorithm;
  spec.window_sequences = window;
  return spec;
}

bool IsLight(const PackSpec& spec, uint64_t pending, const Request& request) {
  return EstimateNanos(&spec, pending, request) <= kInlineNanos;
}

Batch Lengths(size_t count, uint32_t length = 100) {
  return Batch{1, std::vector<uint32_t>(count, length)};
}

TEST(WorkCost, UsualBatchesOfADecreasingRuleStay) {
  const PackSpec spec = Spec("spfhp", 1024);
  EXPECT_TRUE(IsLight(spec, 1023, Lengths(1024)));
  EXPECT_TRUE(IsLight(spec, 1023, Lengths(4096)));
  EXPECT_TRUE(IsLight(spec, 1023, Flush{1}));
  EXPECT_FALSE(IsLight(spec, 1023, Lengths(65536)));
}

TEST(WorkCost, AWindowIsPaidForWhenItCloses) {
  const PackSpec spec = Spec("spfhp", 20000);
  EXPECT_TRUE(IsLight(spec, 10000, Lengths(4096)));
  EXPECT_FALSE(IsLight(spec, 16000, Lengths(4096)));
  EXPECT_FALSE(IsLight(spec, 16000, Flush{1}));
  EXPECT_FALSE(IsLight(spec, 16000, End{1}));
  EXPECT_TRUE(IsLight(spec, 0, Flush{1}));
}

TEST(WorkCost, ThoroughSlidingLeaves) {
  PackSpec spec = Spec("sliding", 1024);
  spec.effort = Effort::kThorough;
  EXPECT_FALSE(IsLight(spec, 0, Lengths(64)));
  EXPECT_FALSE(IsLight(spec, 1023, End{1}));
  spec.effort = Effort::kFast;
  EXPECT_TRUE(IsLight(spec, 0, Lengths(64)));
}

TEST(WorkCost, PiecesCount) {
  PackSpec spec = Spec("spfhp", 1024);
  spec.overlong = Overlong::kSplit;
  EXPECT_TRUE(IsLight(spec, 0, Lengths(2)));
  EXPECT_FALSE(IsLight(spec, 0, Lengths(2, 512 * 10000)));
}

TEST(WorkCost, AStateThatIsLargeLeaves) {
  Open open;
  open.resume = Resume{std::string(1000, 'x'), 0};
  EXPECT_LE(EstimateNanos(nullptr, 0, open), kInlineNanos);
  open.resume->state.resize(1 << 20);
  EXPECT_GT(EstimateNanos(nullptr, 0, open), kInlineNanos);
  EXPECT_EQ(EstimateNanos(nullptr, 0, Lengths(1000)), 0);
}

}  // namespace
}  // namespace packhouse
