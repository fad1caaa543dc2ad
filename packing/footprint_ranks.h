// The distinct footprints of a window, numbered from 1 by ascending size.
//
// "How many of them fit this room?" is a question for every unit that is
// placed, so it has to be cheap: a bitmap over the footprints with a running
// count for each word answers with two loads and a population count. Where the
// longest footprint is too long for a bitmap of O(units) size, the sorted
// footprints are searched instead.

#ifndef PACKHOUSE_PACKING_FOOTPRINT_RANKS_H_
#define PACKHOUSE_PACKING_FOOTPRINT_RANKS_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/numeric/bits.h"
#include "absl/types/span.h"
#include "packing/footprint_sort.h"

namespace packhouse {

class FootprintRanks {
 public:
  // `units` by descending footprint, at least one.
  void Reset(absl::Span<const SortedUnit> units) {
    longest_ = units.front().footprint;
    sorted_.clear();
    words_.clear();
    // At most two words for each unit, 24 bytes. The constant lets small
    // windows have the bitmap for capacities up to 256 k: searching a list
    // takes several times as long.
    if (longest_ / 64 < 2 * units.size() + 4096) {
      MakeBitmap(units);
    } else {
      MakeList(units);
    }
  }

  // Number of distinct footprints.
  uint32_t size() const { return size_; }

  // How many distinct footprints are at most `room`: the rank of the largest
  // one that fits, 0 if none does.
  uint32_t Fitting(uint32_t room) const {
    room = std::min(room, longest_);
    if (words_.empty()) return Search(room);
    const uint64_t up_to_room = words_[room / 64] << (63 - room % 64);
    return before_[room / 64] +
           static_cast<uint32_t>(absl::popcount(up_to_room));
  }

 private:
  void MakeBitmap(absl::Span<const SortedUnit> units) {
    words_.resize(longest_ / 64 + 1);
    // Neighbours mostly share a word: gather it before it is stored.
    uint32_t index = longest_ / 64;
    uint64_t bits = 0;
    for (const SortedUnit& unit : units) {
      if (unit.footprint / 64 != index) {
        words_[index] = std::exchange(bits, 0);
        index = unit.footprint / 64;
      }
      bits |= uint64_t{1} << (unit.footprint % 64);
    }
    words_[index] = bits;
    size_ = 0;
    before_.resize(words_.size());
    for (size_t i = 0; i < words_.size(); ++i) {
      before_[i] = size_;
      size_ += static_cast<uint32_t>(absl::popcount(words_[i]));
    }
  }

  void MakeList(absl::Span<const SortedUnit> units) {
    for (size_t i = units.size(); i-- > 0;) {
      const uint32_t footprint = units[i].footprint;
      if (sorted_.empty() || sorted_.back() != footprint) {
        sorted_.push_back(footprint);
      }
    }
    size_ = static_cast<uint32_t>(sorted_.size());
  }

  uint32_t Search(uint32_t room) const {
    return static_cast<uint32_t>(
        std::upper_bound(sorted_.begin(), sorted_.end(), room) -
        sorted_.begin());
  }

  uint32_t longest_ = 0;
  uint32_t size_ = 0;
  // Either a bitmap of the footprints and how many are in earlier words ...
  std::vector<uint64_t> words_;
  std::vector<uint32_t> before_;
  // ... or the footprints, ascending.
  std::vector<uint32_t> sorted_;
};

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_FOOTPRINT_RANKS_H_
