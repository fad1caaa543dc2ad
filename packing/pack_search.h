// The search for the units that best share a pack with a given one.
//
// A branch and bound over what the pack is worth (price.h). At each node the
// pack as it is so far is closed greedily, with the longest units that fit; its
// children add one more candidate first. Candidates are the oldest kinds,
// oldest first: what stays behind then remains a fair sample of the stream,
// where a search over all kinds for the best fit leaves the awkward ones. Exact
// fits are so many that few nodes are ever looked at.

#ifndef PACKHOUSE_PACKING_PACK_SEARCH_H_
#define PACKHOUSE_PACKING_PACK_SEARCH_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "packing/pending_pool.h"
#include "packing/price.h"
#include "packing/units.h"

namespace packhouse {

class PackSearch {
 public:
  struct Limits {
    uint32_t nodes;   // that are closed, for one pack
    uint32_t oldest;  // units whose kinds are candidates
    // The search begins where about so many units of mean length are left to
    // choose; what comes before them is filled with the oldest.
    uint32_t to_choose;
    uint64_t good;  // a pack that loses this much more than it must will do
  };

  enum class Order { kOldestFirst, kLongestFirst };  // of the candidates

  // The pool must outlive the search.
  PackSearch(const Units& units, PendingPool* pool)
      : units_(units), pool_(*pool) {}

  // Finds a pack with a unit of the kind `anchor`; returns what it loses: the
  // price of a whole pack less that of its units.
  uint64_t Run(uint32_t anchor, const Price& price, Order order,
               const Limits& limits);

  // The kinds of the pack that Run found, one for each unit. Until the next
  // Run.
  absl::Span<const uint32_t> pack() const { return best_pack_; }

 private:
  struct Candidate {
    uint32_t kind;
    uint32_t footprint;
    uint64_t price;
  };

  void Push(uint32_t kind);
  void Pop();
  void PopTo(size_t size) {
    while (pack_.size() > size) Pop();
  }

  // What the pack can be worth at most, and whether it is worth the most so
  // far.
  uint64_t Bound() const;
  void Record();
  bool done() const { return best_ >= enough_ || work_ <= 0; }

  // Takes the oldest while the room is far too large to search.
  void FillRoughly(uint64_t to_choose);

  // Packs the longest units up to `limit` that fit, records, and takes them
  // out again.
  void Close(uint32_t limit);

  // The same with units that use the free slots evenly.
  void CloseEvenly();

  // The candidate with this index, or null beyond the last.
  const Candidate* At(size_t index);

  // Tries all packs that hold the pack so far and candidates from `first` on.
  void Visit(size_t first);

  const Units units_;
  PendingPool& pool_;

  // Of one run.
  const Price* price_ = nullptr;
  Order order_ = Order::kOldestFirst;
  uint64_t run_ = 0;                   // number of the run: its mark
  std::vector<Candidate> candidates_;  // found so far
  uint32_t cursor_ = 0;         // the unit, or the footprint, to go on with
  uint32_t unseen_ = 0;         // units that may still give a candidate
  int64_t work_ = 0;            // left; see kCandidatesPerNode
  std::vector<uint32_t> pack_;  // kinds, the anchor first
  uint32_t room_ = 0;           // that pack_ leaves
  uint32_t slots_ = 0;
  uint64_t worth_ = 0;  // of pack_
  std::vector<uint32_t> best_pack_;
  uint64_t best_ = 0;    // its worth
  uint64_t enough_ = 0;  // a pack that is worth so much ends the run
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_PACK_SEARCH_H_
