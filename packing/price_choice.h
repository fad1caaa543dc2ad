// Which lambda prices the pending units best (price.h).
//
// The price of all units together bounds how many packs they need, so the
// lambda with the highest sum sees most of what makes them hard to pack. Where
// no lambda sees more than the volume does, volume is the right price.
//
// The pending units are asked: they are a fair sample of the stream while
// packing goes well, and where it does not, they lean towards the lengths that
// it leaves behind, so that the price that uses those up rises. With them, the
// history of the stream may be asked. Then a price outlasts a stretch in which
// the pool has no need of it, and what goes with anything is saved for the time
// when the hard lengths come back.
//
// The sum over a histogram costs next to nothing. Burdet and Johnson's function
// rises with slope 1 from the rest on in each piece and is flat otherwise, so
// the sum is made of differences of
//
//   M(x) = sum over the units of min(footprint, x)
//
// at the ends of the pieces, at most three pieces a lambda.

#ifndef PACKHOUSE_PACKING_PRICE_CHOICE_H_
#define PACKHOUSE_PACKING_PRICE_CHOICE_H_

#include <cstdint>
#include <vector>

#include "packing/price.h"
#include "packing/state.h"
#include "packing/units.h"

namespace packhouse {

class PriceChoice {
 public:
  explicit PriceChoice(const Units& units);

  // Keeps count of the pending units.
  void Add(uint32_t footprint) { ++counts_[footprint >> shift_]; }
  void Remove(uint32_t footprint) { --counts_[footprint >> shift_]; }

  // Adds to the history, which is empty for those who do not want one.
  void Arrive(uint32_t footprint);

  // The lambda to go on with where `current` was the last.
  uint32_t Choose(uint32_t current);

  // The lambdas with the highest sums over the pending units alone, the highest
  // first.
  std::vector<uint32_t> Best(size_t size);

  // Whether Choose and Best may return this lambda.
  bool Knows(uint32_t lambda) const;

  // Of the history, which can have seen `taken` units at most.
  void Save(StateWriter* writer) const { writer->Numbers(history_); }
  void Restore(uint64_t taken, StateReader* reader);
  uint64_t MaxStateBytes() const;

 private:
  // Sets min_sums_ from the pending units and, if so asked, the history;
  // returns the packs that the volume needs.
  double SumUp(bool with_history);

  // M(x) above, doubled, interpolated between the cells' edges.
  uint64_t MinSum(uint32_t x) const;

  // The packs that this price says the units summed up need.
  double PacksNeeded(uint32_t lambda) const;

  const uint32_t capacity_;
  int shift_ = 0;                   // a cell has 1 << shift_ footprints
  std::vector<uint32_t> lambdas_;   // descending
  std::vector<uint32_t> counts_;    // by cell
  std::vector<uint32_t> history_;   // by cell
  uint64_t history_size_ = 0;       // sum of it
  std::vector<uint64_t> min_sums_;  // M at the cells' lower edges, doubled
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_PRICE_CHOICE_H_
