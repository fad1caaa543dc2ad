// The units that wait for a pack: in order of age, and by footprint.
//
// Units of one footprint are interchangeable, so they are kept as a *kind* with
// a queue, of which the oldest leaves first. Kinds are found through buckets: a
// footprint each up to 8191, then 4096 to a doubling, so that memory is
// O(units) beyond 340 kB at most, whatever the capacity. A search may hide
// units: they stay where they are but are not found.

#ifndef PACKHOUSE_PACKING_PENDING_POOL_H_
#define PACKHOUSE_PACKING_PENDING_POOL_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/numeric/bits.h"
#include "packing/bitmap_tree.h"

namespace packhouse {

class PendingPool {
 public:
  // Units and kinds are named by index; kNone is no one's.
  static constexpr uint32_t kNone = ~uint32_t{0};

  explicit PendingPool(uint32_t capacity)
      : buckets_(BucketOf(capacity) + 1), longest_(buckets_, kNone) {
    occupied_.Reset(buckets_);
  }

  uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  uint64_t total() const { return total_; }  // of all footprints

  // By age. Requires a unit.
  uint32_t oldest() const { return oldest_; }
  uint32_t Newer(uint32_t unit) const { return units_[unit].newer; }
  uint64_t Number(uint32_t unit) const { return units_[unit].number; }
  uint32_t KindOf(uint32_t unit) const { return units_[unit].kind; }

  uint32_t Footprint(uint32_t kind) const { return kinds_[kind].footprint; }
  uint32_t Visible(uint32_t kind) const { return kinds_[kind].visible; }
  void Hide(uint32_t kind) { --kinds_[kind].visible; }
  void Show(uint32_t kind) { ++kinds_[kind].visible; }

  // True at the first call for this kind with this mark, which must rise from
  // one use to the next.
  bool Mark(uint32_t kind, uint64_t mark) {
    return std::exchange(kinds_[kind].mark, mark) != mark;
  }

  // Adds a unit younger than all others.
  void Add(uint64_t number, uint32_t footprint) {
    const uint32_t k = FindOrAddKind(footprint);
    const uint32_t u = Allocate(&units_, &free_unit_, &Unit::next_of_kind);
    units_[u] = {number, k, newest_, kNone, kNone};
    (newest_ == kNone ? oldest_ : units_[newest_].newer) = u;
    newest_ = u;
    Kind& kind = kinds_[k];
    (kind.size == 0 ? kind.oldest : units_[kind.newest].next_of_kind) = u;
    kind.newest = u;
    ++kind.size;
    ++kind.visible;
    ++size_;
    total_ += footprint;
  }

  // Removes the oldest unit of a kind; returns its number.
  uint64_t Take(uint32_t k) {
    Kind& kind = kinds_[k];
    const uint32_t u = kind.oldest;
    Unit& unit = units_[u];
    (unit.older == kNone ? oldest_ : units_[unit.older].newer) = unit.newer;
    (unit.newer == kNone ? newest_ : units_[unit.newer].older) = unit.older;
    --size_;
    total_ -= kind.footprint;
    kind.oldest = unit.next_of_kind;
    unit.next_of_kind = free_unit_;
    free_unit_ = u;
    --kind.visible;
    if (--kind.size == 0) RemoveKind(k);
    return unit.number;
  }

  // The visible kind with the longest footprint up to `room`, or kNone.
  uint32_t LongestWithin(uint32_t room) const {
    uint32_t bucket = Mirrored(room);
    uint32_t k = longest_[bucket];
    while (k != kNone &&
           (kinds_[k].footprint > room || kinds_[k].visible == 0)) {
      k = kinds_[k].shorter;
    }
    while (k == kNone) {
      if (bucket + 1 == buckets_) return kNone;
      bucket = occupied_.Next(bucket + 1);
      if (bucket == BitmapTree::kNone) return kNone;
      k = longest_[bucket];
      while (k != kNone && kinds_[k].visible == 0) k = kinds_[k].shorter;
    }
    return k;
  }

 private:
  struct Unit {
    uint64_t number;
    uint32_t kind;
    uint32_t older, newer;  // by age
    uint32_t next_of_kind;  // by age; of a free one, the next that is free
  };

  struct Kind {
    uint32_t footprint;
    uint32_t size;
    uint32_t visible;
    uint32_t oldest, newest;  // units
    uint32_t shorter;         // in its bucket; of a free one, the next free one
    uint64_t mark;
  };

  static uint32_t BucketOf(uint32_t footprint) {
    const int bits = 32 - absl::countl_zero(footprint);
    const int shift = std::max(0, bits - 13);
    return (footprint >> shift) + 4096 * static_cast<uint32_t>(shift);
  }

  // Buckets are numbered from the longest, since the tree finds successors.
  uint32_t Mirrored(uint32_t footprint) const {
    return buckets_ - 1 - BucketOf(footprint);
  }

  template <typename T>
  static uint32_t Allocate(std::vector<T>* all, uint32_t* free,
                           uint32_t T::*next) {
    if (*free == kNone) {
      all->emplace_back();
      return static_cast<uint32_t>(all->size() - 1);
    }
    const uint32_t index = *free;
    *free = (*all)[index].*next;
    return index;
  }

  uint32_t FindOrAddKind(uint32_t footprint) {
    const uint32_t bucket = Mirrored(footprint);
    if (longest_[bucket] == kNone) occupied_.Insert(bucket);
    uint32_t longer = kNone;
    uint32_t k = longest_[bucket];
    while (k != kNone && kinds_[k].footprint > footprint) {
      longer = k;
      k = kinds_[k].shorter;
    }
    if (k != kNone && kinds_[k].footprint == footprint) return k;
    const uint32_t added = Allocate(&kinds_, &free_kind_, &Kind::shorter);
    kinds_[added] = {footprint, 0, 0, kNone, kNone, k, 0};
    (longer == kNone ? longest_[bucket] : kinds_[longer].shorter) = added;
    return added;
  }

  void RemoveKind(uint32_t k) {
    const uint32_t bucket = Mirrored(kinds_[k].footprint);
    uint32_t* link = &longest_[bucket];
    while (*link != k) link = &kinds_[*link].shorter;
    *link = kinds_[k].shorter;
    if (longest_[bucket] == kNone) occupied_.Erase(bucket);
    kinds_[k].shorter = free_kind_;
    free_kind_ = k;
  }

  const uint32_t buckets_;
  std::vector<uint32_t> longest_;  // by bucket: its longest kind
  BitmapTree occupied_;            // buckets with kinds
  std::vector<Unit> units_;
  std::vector<Kind> kinds_;
  uint32_t free_unit_ = kNone;
  uint32_t free_kind_ = kNone;
  uint32_t oldest_ = kNone;
  uint32_t newest_ = kNone;
  uint32_t size_ = 0;
  uint64_t total_ = 0;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_PENDING_POOL_H_
