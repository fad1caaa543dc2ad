// The windowed rules as their definitions read, slow and obvious: the oracle of
// the packers' tests. It shares no code with packing/.

#ifndef PACKHOUSE_TESTS_PACKING_NAIVE_PACKER_H_
#define PACKHOUSE_TESTS_PACKING_NAIVE_PACKER_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "packhouse/packs.h"
#include "packhouse/spec.h"
#include "tests/packs.h"

namespace packhouse {

using Lengths = std::vector<uint32_t>;

// What is packed, in order of arrival.
struct NaiveUnit {
  uint64_t ordinal;
  int64_t source_offset;
  int64_t tokens;
};
std::vector<NaiveUnit> NaiveUnits(const Lengths& lengths, const PackSpec& spec);

// The packs of `lengths`, with a flush before each ordinal in `flushes` (and,
// as always, one at the end).
Packs NaivePlan(const Lengths& lengths, const PackSpec& spec,
                const std::set<size_t>& flushes = {});

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_PACKING_NAIVE_PACKER_H_
