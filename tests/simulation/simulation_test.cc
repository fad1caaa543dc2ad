// Thousands of streams through thousands of accidents (world.h), each held
// against the guarantees (checkers.h).
//
// A seed that fails is printed; PACKHOUSE_SEED=N runs that one alone, and
// PACKHOUSE_SEEDS=N runs so many in each shard.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/world.h"

namespace packhouse {
namespace {

constexpr uint64_t kSeeds = 40000;
constexpr uint64_t kShards = 8;  // so that they can run side by side

std::string Problem(const Outcome& outcome) {
  return outcome.error.empty() ? FindViolation(outcome.history) : outcome.error;
}

class SimulationTest : public testing::TestWithParam<uint64_t> {};

TEST_P(SimulationTest, NoAccidentBreaksAGuarantee) {
  uint64_t size = kSeeds / kShards;
  if (const char* seeds = std::getenv("PACKHOUSE_SEEDS")) {
    ASSERT_TRUE(absl::SimpleAtoi(seeds, &size)) << seeds;
  }
  uint64_t begin = GetParam() * size;
  uint64_t end = begin + size;
  if (const char* seed = std::getenv("PACKHOUSE_SEED")) {
    ASSERT_TRUE(absl::SimpleAtoi(seed, &begin)) << seed;
    end = begin + 1;
  }
  Outcome sum;
  for (uint64_t seed = begin; seed < end; ++seed) {
    const Outcome outcome = RunWorld(seed);
    ASSERT_EQ(Problem(outcome), "")
        << "seed " << seed << "; PACKHOUSE_SEED=" << seed << " runs it alone";
    sum.connections += outcome.connections;
    sum.resumed_from_snapshots += outcome.resumed_from_snapshots;
    sum.fenced += outcome.fenced;
    sum.owner_deaths += outcome.owner_deaths;
    sum.server_deaths += outcome.server_deaths;
  }
  if (end - begin == 1) return;
  // The seeds go where it hurts.
  EXPECT_GT(sum.connections, end - begin);
  EXPECT_GT(sum.resumed_from_snapshots, 100u);
  EXPECT_GT(sum.fenced, 20u);
  EXPECT_GT(sum.owner_deaths, 100u);
  EXPECT_GT(sum.server_deaths, 100u);
}

INSTANTIATE_TEST_SUITE_P(Seeds, SimulationTest,
                         testing::Range(uint64_t{0}, kShards));

// A world with a broken rule is found out, by the guarantee that it breaks.
class BrokenWorldTest : public testing::Test {
 protected:
  // The names of the guarantees that some seed breaks.
  static std::string FirstProblem(Bug bug, const std::string& name) {
    constexpr uint64_t kEnough = 2000;
    std::string other;
    for (uint64_t seed = 0; seed < kEnough; ++seed) {
      const std::string problem = Problem(RunWorld(seed, bug));
      if (problem.rfind(name + ":", 0) == 0) return name;
      if (!problem.empty()) other = problem;
    }
    return other;
  }
};

TEST_F(BrokenWorldTest, AcknowledgingTooEarlyLosesSequences) {
  EXPECT_EQ(FirstProblem(Bug::kSavesBeforeTaking, "Conserved"), "Conserved");
}

TEST_F(BrokenWorldTest, AServerWithAnotherRuleIsNotDeterministic) {
  EXPECT_EQ(FirstProblem(Bug::kAnotherRule, "Deterministic"), "Deterministic");
}

TEST_F(BrokenWorldTest, ReadingWithoutEndIsNotBounded) {
  EXPECT_EQ(FirstProblem(Bug::kReadsWithoutEnd, "Bounded"), "Bounded");
}

TEST_F(BrokenWorldTest, MiscountingWhatWasTakenRepeatsSequences) {
  EXPECT_EQ(FirstProblem(Bug::kMiscountsTaken, "Conserved"), "Conserved");
}

}  // namespace
}  // namespace packhouse
