// The pricing problem of column generation: of all packs that could be made of
// the units at hand, which are worth the most at given prices?
//
// A bounded knapsack, solved exactly in integers by dynamic programming over
// the capacity; with a limit on the units of a pack, over capacity and number
// of units. One run answers it for every length as the longest of the pack, so
// that it yields many different packs at once.

#ifndef PACKHOUSE_PACKING_LP_PRICING_H_
#define PACKHOUSE_PACKING_LP_PRICING_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "packing/lower_bound.h"

namespace packhouse {

// So many units of the footprint with this index in a list of footprints.
struct IndexCount {
  uint32_t index;
  uint32_t count;
};

inline bool operator==(const IndexCount& a, const IndexCount& b) {
  return a.index == b.index && a.count == b.count;
}
inline bool operator<(const IndexCount& a, const IndexCount& b) {
  return a.index != b.index ? a.index < b.index : a.count < b.count;
}

// What a pack holds: by descending index, each once.
using Pattern = std::vector<IndexCount>;

class Pricing {
 public:
  // `footprints` ascend, from 1 to the capacity, and must outlive this.
  Pricing(absl::Span<const uint32_t> footprints, uint32_t capacity,
          uint32_t max_units);

  // Finds the best pack for each longest length, of at most counts[i] units of
  // each length at prices[i] >= 0 each. Returns the largest value, 0 where
  // there are no units. Requires that no pack is worth 2^31 or more.
  int32_t Solve(absl::Span<const int32_t> prices,
                absl::Span<const uint64_t> counts);

  // The packs that the last Solve found with at least `value`, the most
  // valuable first, `limit` at most.
  std::vector<Pattern> Best(int32_t value, size_t limit) const;

  // Steps that Solve takes with these counts, which is also the memory that it
  // needs, in bytes.
  double Steps(absl::Span<const uint64_t> counts) const;

 private:
  // Some units of one length that go into a pack together or not at all.
  // Powers of two and a rest make up any number.
  struct Item {
    uint32_t index;
    uint32_t units;
  };

  // A pack that consists of one unit of `index`, which is its longest, and the
  // best that the first `items` items make of the rest.
  struct Candidate {
    int32_t value;
    uint32_t index;
    uint32_t items;
  };

  uint64_t MaxCopies(size_t index, uint64_t count) const;
  void AddItem(uint32_t index, uint32_t units, int32_t price);
  Pattern Trace(const Candidate& candidate) const;

  const absl::Span<const uint32_t> footprints_;
  const size_t width_;        // capacity + 1
  const uint32_t max_units_;  // of a pack, where it binds
  const uint32_t layers_;     // numbers of units that are told apart

  std::vector<Item> items_;
  std::vector<Candidate> candidates_;
  // By layer and room: the value of the best pack so far, before and after an
  // item.
  std::vector<int32_t> values_;
  std::vector<int32_t> next_values_;
  // By item, layer and room: whether the best pack takes the item.
  std::vector<uint8_t> taken_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_LP_PRICING_H_
