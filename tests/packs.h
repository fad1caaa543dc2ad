// Specs, lengths and packs as the tests of all folders make them.

#ifndef PACKHOUSE_TESTS_PACKS_H_
#define PACKHOUSE_TESTS_PACKS_H_

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <random>
#include <vector>

#include "packhouse/packs.h"
#include "packhouse/spec.h"

namespace packhouse {

inline PackSpec MakeSpec(int64_t capacity_tokens, int64_t window_sequences) {
  PackSpec spec;
  spec.capacity_tokens = capacity_tokens;
  spec.window_sequences = window_sequences;
  return spec;
}

// Lengths from 1 to `longest`.
inline std::vector<uint32_t> RandomLengths(size_t count, uint32_t longest,
                                           std::mt19937* random) {
  std::uniform_int_distribution<uint32_t> length(1, longest);
  std::vector<uint32_t> lengths(count);
  for (uint32_t& value : lengths) value = length(*random);
  return lengths;
}

inline Packs MakePacks(const std::vector<std::vector<uint64_t>>& lists) {
  Packs packs;
  for (const std::vector<uint64_t>& list : lists) {
    packs.ordinals.insert(packs.ordinals.end(), list.begin(), list.end());
    packs.offsets.push_back(packs.ordinals.size());
  }
  return packs;
}

// How a failed comparison shows packs.
inline void PrintTo(const Packs& packs, std::ostream* out) {
  for (size_t i = 0; i < packs.size(); ++i) {
    *out << (i == 0 ? "{" : ", {");
    for (uint64_t at = packs.offsets[i]; at < packs.offsets[i + 1]; ++at) {
      *out << packs.ordinals[at];
      if (packs.source_offset(at) > 0) *out << "@" << packs.source_offset(at);
      *out << " ";
    }
    *out << "}";
  }
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_PACKS_H_
