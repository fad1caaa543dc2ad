// What share of the price the slots of a pack get where their number is limited
// (price.h).
//
// A packer that pays too little for slots fills packs with few long units; the
// short ones stay behind and the mean of the pool falls below that of the
// stream. One that pays too much does the opposite. So the share follows the
// difference of the two, a small step with each pack: no constant share works
// for all lists.

#ifndef PACKHOUSE_PACKING_SLOT_SHARE_H_
#define PACKHOUSE_PACKING_SLOT_SHARE_H_

#include <algorithm>
#include <cstdint>

#include "packing/price.h"
#include "packing/state.h"
#include "packing/units.h"

namespace packhouse {

class SlotShare {
 public:
  explicit SlotShare(const Units& units)
      : capacity_(units.capacity),
        is_limited_(units.max_sequences < units.capacity),
        value_(is_limited_ ? Price::kOne / 50 : 0) {}

  // False where no pack can ever have too many units.
  bool is_limited() const { return is_limited_; }

  // From 0 to Price::kOne.
  uint64_t value() const { return value_; }

  void Arrive(uint32_t footprint) {
    if (!is_limited_) return;
    arrived_total_ += footprint;
    if (++arrived_ < kMaxArrived) return;
    arrived_ /= 2;
    arrived_total_ /= 2;
  }

  // Moves the share by what the pool says. True where it may have changed.
  bool Adjust(uint64_t pool_total, uint32_t pool_size) {
    if (!is_limited_ || pool_size == 0) return false;
    // 1 - mean of the pool / mean of the stream, from -1 to 1.
    constexpr int64_t kUnit = 1 << 20;
    const Wide ratio = Wide{pool_total} * arrived_ * kUnit /
                       (Wide{arrived_total_} * pool_size);
    const int64_t error =
        kUnit - static_cast<int64_t>(std::min(ratio, Wide{2 * kUnit}));
    const int64_t one = static_cast<int64_t>(Price::kOne);
    const int64_t step = error * (one / kUnit / kSteps);
    value_ = static_cast<uint64_t>(
        std::clamp(static_cast<int64_t>(value_) + step, int64_t{0}, one));
    return true;
  }

  void Save(StateWriter* writer) const {
    if (!is_limited_) return;
    writer->Number(value_);
    writer->Number(arrived_);
    writer->Number(arrived_total_);
  }

  // At least `pending` units have arrived, and at most `taken`.
  void Restore(uint64_t pending, uint64_t taken, StateReader* reader) {
    if (!is_limited_) return;
    value_ = reader->NumberUpTo(Price::kOne);
    arrived_ = reader->NumberUpTo(std::min(taken, kMaxArrived - 1));
    arrived_total_ = reader->NumberUpTo(arrived_ * capacity_);
    if (arrived_ < std::min(pending, kMaxArrived / 2) ||
        arrived_total_ < arrived_) {
      reader->Fail();
    }
  }

  uint64_t MaxStateBytes() const {
    if (!is_limited_) return 0;
    return MaxNumberBytes(Price::kOne) + MaxNumberBytes(kMaxArrived) +
           MaxNumberBytes(kMaxArrived * capacity_);
  }

 private:
  __extension__ typedef __int128 Wide;

  // Packs in which the share would go from 0 to 1 if the means differed by all
  // of it. 100 to 300 serve alike; with 30 it swings (SQuAD: 0.4 % more packs).
  static constexpr int64_t kSteps = 300;

  // Then all counts are halved, so that the mean follows a stream that changes
  // and numbers stay small.
  static constexpr uint64_t kMaxArrived = 1 << 20;

  const uint64_t capacity_;
  const bool is_limited_;
  uint64_t value_;
  uint64_t arrived_ = 0;
  uint64_t arrived_total_ = 0;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_SLOT_SHARE_H_
