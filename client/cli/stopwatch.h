// How long something took.

#ifndef PACKHOUSE_CLIENT_CLI_STOPWATCH_H_
#define PACKHOUSE_CLIENT_CLI_STOPWATCH_H_

#include <time.h>

#include <chrono>

namespace packhouse {

// Runs from where it is made.
class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
};

// Processor time of the calling thread: other programs of the machine take part
// in what a Stopwatch shows, and hardly in this.
class CpuStopwatch {
 public:
  double seconds() const { return Now() - start_; }

 private:
  static double Now() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) +
           static_cast<double>(now.tv_nsec) / 1e9;
  }

  double start_ = Now();
};

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_STOPWATCH_H_
