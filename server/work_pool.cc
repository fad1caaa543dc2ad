#include "server/work_pool.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "absl/time/clock.h"

namespace packhouse {
namespace {

// How much nicer a thread of the pool is than the rest of the process: under
// full load it gets a third of what a thread of gRPC gets, so that light
// requests are answered first, and the whole machine where that is idle. With
// three streams of `sliding thorough` on two cores, nine in ten batches of a
// fourth were answered within 0.30 to 0.42 ms at the same priority, within 0.29
// to 0.30 at this, and within 0.24 to 0.29 with no other stream.
constexpr int kNiceness = 5;

// On Linux the priority is that of a thread, not of the process.
void LowerPriority() {
  errno = 0;
  const int now = getpriority(PRIO_PROCESS, 0);
  if (errno == 0) setpriority(PRIO_PROCESS, 0, now + kNiceness);
}

}  // namespace

WorkPool::WorkPool(int threads, size_t max_waiting_plans,
                   std::function<void(absl::Duration)> on_begin)
    : max_waiting_plans_(max_waiting_plans),
      max_running_plans_(std::max(1, threads - 1)),
      on_begin_(std::move(on_begin)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

WorkPool::~WorkPool() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) thread.join();
}

void WorkPool::Submit(Job job) {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mutex_);
  streams_.emplace(next_ticket_++, Task{std::move(job), now, false});
}

absl::optional<WorkPool::Ticket> WorkPool::SubmitPlan(Job job) {
  const absl::Time now = absl::Now();
  absl::MutexLock lock(&mutex_);
  if (plans_.size() >= max_waiting_plans_) return absl::nullopt;
  plans_.emplace(next_ticket_, Task{std::move(job), now, true});
  return next_ticket_++;
}

bool WorkPool::Withdraw(Ticket plan) {
  Queue::node_type withdrawn;  // destroyed without the lock
  absl::MutexLock lock(&mutex_);
  withdrawn = plans_.extract(plan);
  return !withdrawn.empty();
}

WorkPool::Load WorkPool::load() const {
  absl::MutexLock lock(&mutex_);
  return {static_cast<int>(threads_.size()), busy_,
          streams_.size() + plans_.size()};
}

WorkPool::Queue* WorkPool::NextQueue() {
  const bool plan_may_begin =
      !plans_.empty() && running_plans_ < max_running_plans_;
  if (!plan_may_begin) return streams_.empty() ? nullptr : &streams_;
  if (streams_.empty()) return &plans_;
  return streams_.begin()->first < plans_.begin()->first ? &streams_ : &plans_;
}

bool WorkPool::Begin(Task* task) {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &WorkPool::MayGoOn));
  Queue* queue = NextQueue();
  if (queue == nullptr) return false;
  *task = std::move(queue->begin()->second);
  queue->erase(queue->begin());
  ++busy_;
  running_plans_ += task->is_plan;
  return true;
}

void WorkPool::End(const Task& task) {
  absl::MutexLock lock(&mutex_);
  --busy_;
  running_plans_ -= task.is_plan;
}

void WorkPool::Work() {
  LowerPriority();
  Task task;
  while (Begin(&task)) {
    if (on_begin_) on_begin_(absl::Now() - task.since);
    task.job();
    task.job = nullptr;
    End(task);
  }
}

}  // namespace packhouse
