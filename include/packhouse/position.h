// Where a stream is, as far as its owner has come.

#ifndef PACKHOUSE_POSITION_H_
#define PACKHOUSE_POSITION_H_

#include <cstdint>
#include <vector>

namespace packhouse {

// The tokens of sequences whose packs were not taken live in the owner's
// memory only, so that an owner which starts anew has to read them again: its
// source from `read_from` on, but for those in `done_after`. It then gives the
// stream what comes from `given` on.
struct StreamPosition {
  // Sequences given: the ordinal of the next.
  uint64_t given = 0;

  // The oldest ordinal that is neither in a pack that was taken, whole, nor
  // dropped; `given` where there is none.
  uint64_t read_from = 0;

  // Those from `read_from` on that are, ascending.
  std::vector<uint64_t> done_after;

  // Packs taken.
  uint64_t packs = 0;
};

}  // namespace packhouse

#endif  // PACKHOUSE_POSITION_H_
