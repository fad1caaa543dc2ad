// Calls a function again and again, on a thread of its own.

#ifndef PACKHOUSE_SERVER_TICKER_H_
#define PACKHOUSE_SERVER_TICKER_H_

#include <functional>
#include <thread>
#include <utility>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"

namespace packhouse {

class Ticker {
 public:
  // Calls `tick` every `period` until this is destroyed, which waits for a call
  // that is on the way.
  Ticker(absl::Duration period, std::function<void()> tick)
      : thread_([this, period, tick = std::move(tick)] {
          while (!end_.WaitForNotificationWithTimeout(period)) tick();
        }) {}

  ~Ticker() {
    end_.Notify();
    thread_.join();
  }

  Ticker(const Ticker&) = delete;
  Ticker& operator=(const Ticker&) = delete;

 private:
  absl::Notification end_;
  std::thread thread_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_TICKER_H_
