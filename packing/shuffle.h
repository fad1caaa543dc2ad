// Pseudo-random orders by seed, for packs and for steps.

#ifndef PACKHOUSE_PACKING_SHUFFLE_H_
#define PACKHOUSE_PACKING_SHUFFLE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "packhouse/packs.h"

namespace packhouse {

// The numbers from 0 to count - 1 in a pseudo-random order that depends on the
// seed, `window` and `count` only, and is the same on every machine: a
// Fisher-Yates shuffle from the last place down, each drawn without bias
// (Lemire, "Fast Random Integer Generation in an Interval", 2019) from
// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number
// Generators", 2014), which starts at the SplitMix64 output for `seed` plus
// `window`.
std::vector<size_t> ShuffledOrder(uint64_t seed, uint64_t window, size_t count);

// Puts the packs from number `first` on into that order. Their ordinals only:
// they must not have source offsets yet.
void ShufflePacks(uint64_t seed, uint64_t window, size_t first, Packs* packs);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_SHUFFLE_H_
