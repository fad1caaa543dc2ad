// A set of ordinals that fills up from 0, a little out of order.
//
// It keeps one bit for each ordinal from the lowest missing one to the highest
// present one, so its memory is that of a packer's window, not of the stream.
//
// Thread-compatible.

#ifndef PACKHOUSE_SESSION_ORDINAL_SET_H_
#define PACKHOUSE_SESSION_ORDINAL_SET_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packing/state.h"

namespace packhouse {

class OrdinalSet {
 public:
  // False if `ordinal` is in the set already. Takes memory up to `ordinal`, so
  // check first that it is not absurd.
  bool Insert(uint64_t ordinal) {
    if (ordinal < first_) return false;
    const uint64_t place = ordinal - first_;
    if (place / 64 >= words_.size()) words_.resize(place / 64 + 1);
    uint64_t& word = words_[place / 64];
    const uint64_t bit = uint64_t{1} << (place % 64);
    const bool absent = (word & bit) == 0;
    word |= bit;
    return absent;
  }

  bool Contains(uint64_t ordinal) const {
    if (ordinal < first_) return true;
    const uint64_t place = ordinal - first_;
    return place / 64 < words_.size() &&
           (words_[place / 64] >> (place % 64) & 1) != 0;
  }

  // The lowest ordinal that is not in the set.
  uint64_t first_missing() const;

  // Writes which ordinals below `end` are in the set, or reads what was
  // written. The reader fails where there are more than `max_words` words from
  // the first missing ordinal on.
  void Save(uint64_t end, StateWriter* writer) const;
  void Restore(uint64_t end, uint64_t max_words, StateReader* reader);

  // Gives back the memory of the lower part, in which no ordinal is missing.
  // Amortised O(1) for each Insert; call it after a number of them.
  void Trim();

  // What the set takes, for tests.
  size_t memory_words() const { return words_.size(); }

 private:
  uint64_t first_ = 0;           // every ordinal below is present
  std::vector<uint64_t> words_;  // by ordinal - first_: a bit each
  size_t full_words_ = 0;        // words_ before this one have all bits
};

}  // namespace packhouse

#endif  // PACKHOUSE_SESSION_ORDINAL_SET_H_
