#include "packing/offline/budget.h"

#include <chrono>

namespace packhouse {

SpentTime StartBudget(const PackSpec& spec) {
  using Clock = std::chrono::steady_clock;
  const double seconds = spec.budget_seconds == 0 ? 1 : spec.budget_seconds;
  return [seconds, start = Clock::now()] {
    const std::chrono::duration<double> passed = Clock::now() - start;
    return passed.count() / seconds;
  };
}

}  // namespace packhouse
