// How long something took.

#ifndef PACKHOUSE_CLIENT_CLI_STOPWATCH_H_
#define PACKHOUSE_CLIENT_CLI_STOPWATCH_H_

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

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_STOPWATCH_H_
