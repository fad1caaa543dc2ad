// The threads that do heavy packing, so that those of gRPC stay free.
//
// Jobs begin in the order in which they came. Plans may take long, so they get
// all threads but one, where there are several: a stream never waits for a plan
// to end. Few jobs can wait: a stream has one request in work at a time, and of
// plans a bounded number is taken.
//
// The threads have a lower priority than those that answer light requests.
//
// Thread-safe.

#ifndef PACKHOUSE_SERVER_WORK_POOL_H_
#define PACKHOUSE_SERVER_WORK_POOL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/optional.h"

namespace packhouse {

class WorkPool {
 public:
  using Job = std::function<void()>;
  using Ticket = uint64_t;

  // What the threads do now.
  struct Load {
    int threads = 0;
    int busy = 0;
    size_t queued = 0;
  };

  // With at least one thread. `on_begin` (which may be empty) is told of each
  // job how long it has waited; it runs on the job's thread.
  WorkPool(int threads, size_t max_waiting_plans,
           std::function<void(absl::Duration)> on_begin = {});

  // Waits until all jobs are done.
  ~WorkPool();

  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // Takes the work of a stream.
  void Submit(Job job) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes a plan, unless as many wait as may.
  absl::optional<Ticket> SubmitPlan(Job job) ABSL_LOCKS_EXCLUDED(mutex_);

  // Takes a plan back. False if it has begun: then it runs to its end.
  bool Withdraw(Ticket plan) ABSL_LOCKS_EXCLUDED(mutex_);

  Load load() const ABSL_LOCKS_EXCLUDED(mutex_);
  size_t max_waiting_plans() const { return max_waiting_plans_; }

 private:
  struct Task {
    Job job;
    absl::Time since;
    bool is_plan;
  };
  using Queue = std::map<Ticket, Task>;  // oldest first

  void Work() ABSL_LOCKS_EXCLUDED(mutex_);

  // Waits for a task and begins it; false once there will be none.
  bool Begin(Task* task) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(const Task& task) ABSL_LOCKS_EXCLUDED(mutex_);

  // The queue whose front may begin; null where none may.
  Queue* NextQueue() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool MayGoOn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || NextQueue() != nullptr;
  }

  const size_t max_waiting_plans_;
  const int max_running_plans_;
  const std::function<void(absl::Duration)> on_begin_;

  mutable absl::Mutex mutex_;
  Ticket next_ticket_ ABSL_GUARDED_BY(mutex_) = 1;
  Queue streams_ ABSL_GUARDED_BY(mutex_);
  Queue plans_ ABSL_GUARDED_BY(mutex_);
  int busy_ ABSL_GUARDED_BY(mutex_) = 0;
  int running_plans_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_WORK_POOL_H_
