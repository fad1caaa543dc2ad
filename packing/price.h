// What room in a pack is worth: the prices that guide `sliding`.
//
// A price is *dual feasible* where no pack can hold more than the price of a
// whole pack, kOne. What the units of a pack are short of kOne is then what the
// pack wastes, also when it is full: two units of 0.4 packs and some scarce
// short ones fill a pack, and those short ones are missing later where three
// longer ones leave a rest. This price is a mixture of three that are dual
// feasible, hence so itself:
//
//   volume   footprint / capacity;
//   pieces   Burdet and Johnson's function (see lower_bound.cc): cut the
//            capacity into whole pieces of lambda and a rest; a footprint is
//            worth its whole pieces and what it has beyond the rest in its last
//            one. It says which lengths must meet which, where volume says
//            nothing;
//   slots    1 / max_sequences for each unit, where the number is limited.
//
// All are superadditive (a room is worth at least what its parts are), so the
// price of the room that is left bounds what can still be put there. Prices are
// integers: comparisons are exact, and the same on every machine.

#ifndef PACKHOUSE_PACKING_PRICE_H_
#define PACKHOUSE_PACKING_PRICE_H_

#include <algorithm>
#include <cstdint>

#include "packing/units.h"

namespace packhouse {

class Price {
 public:
  // Of a whole pack, but for rounding down. 2^52 leaves weights of 20 bits at
  // the largest capacity, and sums in 64.
  static constexpr uint64_t kOne = uint64_t{1} << 52;

  // The lambda of a price without pieces.
  static constexpr uint32_t kVolume = 1;

  // `lambda` is kVolume, or from capacity / 4 (exclusive) to the capacity
  // (exclusive) and does not divide it. `slot_share`, from 0 to kOne, goes to
  // the slots; 0 where the number of units is not limited.
  Price(const Units& units, uint32_t lambda, uint64_t slot_share)
      : lambda_(lambda),
        rest_(units.capacity % lambda),
        piece_(lambda - rest_),
        slot_(slot_share / units.max_sequences) {
    const uint64_t both = kOne - slot_ * units.max_sequences;
    const uint64_t whole = uint64_t{units.capacity / lambda} * piece_;
    if (lambda != kVolume) piece_weight_ = both / 10 * kPieceTenths / whole;
    volume_weight_ = (both - piece_weight_ * whole) / units.capacity;
    of_pack_ = OfRoom(units.capacity) + slot_ * units.max_sequences;
  }

  uint32_t lambda() const { return lambda_; }
  uint32_t rest() const { return rest_; }

  // Of a room, or of a footprint without its slot: superadditive.
  uint64_t OfRoom(uint32_t room) const {
    // Fewer than four whole pieces, or weight 0.
    const uint32_t whole =
        (room >= lambda_) + (room / 2 >= lambda_) + (room / 3 >= lambda_);
    const uint32_t last = room - whole * lambda_;
    const uint64_t pieces = uint64_t{whole} * piece_ +
                            std::min(last > rest_ ? last - rest_ : 0, piece_);
    return piece_weight_ * pieces + volume_weight_ * room;
  }

  uint64_t OfSlot() const { return slot_; }
  uint64_t OfUnit(uint32_t footprint) const {
    return OfRoom(footprint) + slot_;
  }

  // No pack of units is worth more; kOne but for rounding.
  uint64_t OfPack() const { return of_pack_; }

 private:
  // Of pieces against volume: pieces alone would not care for the fillers,
  // volume alone spends them. 5 to 9 tenths give the same packs within 0.1 %.
  static constexpr uint64_t kPieceTenths = 7;

  uint32_t lambda_;
  uint32_t rest_;
  uint32_t piece_;
  uint64_t slot_;
  uint64_t piece_weight_ = 0;
  uint64_t volume_weight_;
  uint64_t of_pack_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_PRICE_H_
