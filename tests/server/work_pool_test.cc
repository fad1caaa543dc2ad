// Order, bounds and withdrawal, with jobs that the test holds.

#include "server/work_pool.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "absl/synchronization/blocking_counter.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace packhouse {
namespace {

using testing::ElementsAre;

// Jobs note their numbers as they run.
class Notes {
 public:
  WorkPool::Job Job(int number) {
    return [this, number] {
      absl::MutexLock lock(&mutex_);
      numbers_.push_back(number);
    };
  }
  std::vector<int> numbers() const {
    absl::MutexLock lock(&mutex_);
    return numbers_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<int> numbers_;
};

// A job that runs until it is released.
class Held {
 public:
  WorkPool::Job Job() {
    return [this] {
      begun_.Notify();
      released_.WaitForNotification();
    };
  }
  void AwaitBegin() { begun_.WaitForNotification(); }
  void Release() { released_.Notify(); }

 private:
  absl::Notification begun_;
  absl::Notification released_;
};

TEST(WorkPool, BeginsInTheOrderOfArrival) {
  Notes notes;
  Held held;
  {
    WorkPool pool(1, 100);
    pool.Submit(held.Job());
    held.AwaitBegin();
    for (int i = 0; i < 20; ++i) {
      if (i % 3 == 0) {
        ASSERT_TRUE(pool.SubmitPlan(notes.Job(i)).has_value());
      } else {
        pool.Submit(notes.Job(i));
      }
    }
    EXPECT_EQ(pool.load().busy, 1);
    EXPECT_EQ(pool.load().queued, 20);
    held.Release();
  }
  std::vector<int> expected(20);
  for (int i = 0; i < 20; ++i) expected[i] = i;
  EXPECT_EQ(notes.numbers(), expected);
}

TEST(WorkPool, PlansThatWaitAreBoundedAndStreamsAreNot) {
  Notes notes;
  Held held;
  {
    WorkPool pool(1, 2);
    ASSERT_TRUE(pool.SubmitPlan(held.Job()).has_value());
    held.AwaitBegin();
    EXPECT_TRUE(pool.SubmitPlan(notes.Job(1)).has_value());
    EXPECT_TRUE(pool.SubmitPlan(notes.Job(2)).has_value());
    EXPECT_FALSE(pool.SubmitPlan(notes.Job(3)).has_value());
    for (int i = 4; i < 8; ++i) pool.Submit(notes.Job(i));
    held.Release();
  }
  EXPECT_THAT(notes.numbers(), ElementsAre(1, 2, 4, 5, 6, 7));
}

TEST(WorkPool, WithdrawnPlansDoNotRunAndMakeRoom) {
  Notes notes;
  Held held;
  {
    WorkPool pool(1, 1);
    const absl::optional<WorkPool::Ticket> running =
        pool.SubmitPlan(held.Job());
    held.AwaitBegin();
    const absl::optional<WorkPool::Ticket> waiting =
        pool.SubmitPlan(notes.Job(1));
    EXPECT_FALSE(pool.SubmitPlan(notes.Job(2)).has_value());
    EXPECT_FALSE(pool.Withdraw(*running));
    EXPECT_TRUE(pool.Withdraw(*waiting));
    EXPECT_FALSE(pool.Withdraw(*waiting));
    EXPECT_TRUE(pool.SubmitPlan(notes.Job(3)).has_value());
    held.Release();
  }
  EXPECT_THAT(notes.numbers(), ElementsAre(3));
}

// However many plans there are, one thread is left to streams.
TEST(WorkPool, AStreamDoesNotWaitForPlans) {
  Held first;
  Held second;
  Held third;
  Held stream;
  WorkPool pool(3, 10);
  pool.SubmitPlan(first.Job());
  pool.SubmitPlan(second.Job());
  pool.SubmitPlan(third.Job());
  first.AwaitBegin();
  second.AwaitBegin();
  pool.Submit(stream.Job());
  stream.AwaitBegin();
  EXPECT_EQ(pool.load().busy, 3);
  EXPECT_EQ(pool.load().queued, 1);
  first.Release();
  third.AwaitBegin();
  second.Release();
  third.Release();
  stream.Release();
}

TEST(WorkPool, TellsHowLongEachJobWaited) {
  std::atomic<int> told{0};
  {
    WorkPool pool(2, 10, [&told](absl::Duration wait) {
      EXPECT_GE(wait, absl::ZeroDuration());
      ++told;
    });
    for (int i = 0; i < 50; ++i) pool.Submit([] {});
  }
  EXPECT_EQ(told, 50);
}

TEST(WorkPool, FromManyThreads) {
  std::atomic<uint64_t> sum{0};
  {
    WorkPool pool(4, 1000);
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 1000; ++i) pool.Submit([&sum] { ++sum; });
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(sum, 8000);
}

}  // namespace
}  // namespace packhouse
