#include "server/memory_budget.h"

#include <atomic>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace packhouse {
namespace {

TEST(MemoryBudget, TakesUpToTheLimitAndGivesBack) {
  MemoryBudget budget(100);
  {
    const auto first = budget.Take(60);
    ASSERT_TRUE(first.has_value());
    EXPECT_EQ(first->bytes(), 60);
    EXPECT_FALSE(budget.Take(41).has_value());
    const auto second = budget.Take(40);
    ASSERT_TRUE(second.has_value());
    EXPECT_EQ(budget.committed(), 100);
    EXPECT_TRUE(budget.Take(0).has_value());
    EXPECT_FALSE(budget.Take(1).has_value());
  }
  EXPECT_EQ(budget.committed(), 0);
  EXPECT_FALSE(budget.Take(std::numeric_limits<uint64_t>::max()).has_value());
  EXPECT_EQ(budget.committed(), 0);
}

TEST(MemoryBudget, MovedShareIsGivenBackOnce) {
  MemoryBudget budget(10);
  {
    MemoryBudget::Share kept;
    {
      auto share = budget.Take(7);
      kept = *std::move(share);
    }
    EXPECT_EQ(budget.committed(), 7);
    kept = *budget.Take(2);
  }
  EXPECT_EQ(budget.committed(), 0);
}

TEST(MemoryBudget, NeverAboveTheLimitFromManyThreads) {
  constexpr uint64_t kLimit = 1000;
  MemoryBudget budget(kLimit);
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const auto share = budget.Take(1 + i % 300);
        EXPECT_LE(budget.committed(), kLimit);
        taken += share.has_value();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(taken, 0);
  EXPECT_EQ(budget.committed(), 0);
}

}  // namespace
}  // namespace packhouse
