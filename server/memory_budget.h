// The memory that streams and plans of a server may come to take together.
//
// Each takes the most that it can need before it begins, and gives it back at
// its end. So the sum of what is used stays below the limit, without anybody
// measuring memory.

#ifndef PACKHOUSE_SERVER_MEMORY_BUDGET_H_
#define PACKHOUSE_SERVER_MEMORY_BUDGET_H_

#include <atomic>
#include <cstdint>
#include <utility>

#include "absl/types/optional.h"

namespace packhouse {

// Thread-safe.
class MemoryBudget {
 public:
  // What one of them has taken; given back when it is destroyed. The budget
  // must outlive it. Thread-compatible.
  class Share {
   public:
    Share() = default;
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept {
      std::swap(budget_, other.budget_);
      std::swap(bytes_, other.bytes_);
      return *this;
    }
    ~Share() {
      if (budget_ != nullptr) budget_->committed_ -= bytes_;
    }

    uint64_t bytes() const { return bytes_; }

   private:
    friend class MemoryBudget;

    MemoryBudget* budget_ = nullptr;
    uint64_t bytes_ = 0;
  };

  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}

  // None where it would bring the sum above the limit.
  absl::optional<Share> Take(uint64_t bytes) {
    uint64_t committed = committed_;
    do {
      if (bytes > limit_ || committed > limit_ - bytes) return absl::nullopt;
    } while (!committed_.compare_exchange_weak(committed, committed + bytes));
    Share share;
    share.budget_ = this;
    share.bytes_ = bytes;
    return share;
  }

  uint64_t committed() const { return committed_; }
  uint64_t limit() const { return limit_; }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> committed_{0};
};

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_MEMORY_BUDGET_H_
