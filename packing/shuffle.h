// The order of packs by seed.

#ifndef PACKHOUSE_PACKING_SHUFFLE_H_
#define PACKHOUSE_PACKING_SHUFFLE_H_

#include <cstddef>
#include <cstdint>

#include "packhouse/packs.h"

namespace packhouse {

// Puts the packs from number `first` on into a pseudo-random order that depends
// on the seed, `window` and the number of these packs only, and is the same on
// every machine: a Fisher-Yates shuffle from the last pack down, each place
// drawn without bias (Lemire, "Fast Random Integer Generation in an Interval",
// 2019) from SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom
// Number Generators", 2014), which starts at the SplitMix64 output for `seed`
// plus `window`.
void ShufflePacks(uint64_t seed, uint64_t window, size_t first, Packs* packs);

}  // namespace packhouse

#endif  // PACKHOUSE_PACKING_SHUFFLE_H_
