// The answer of a packer: which sequences share a pack.
//
// Packs are columnar (compressed sparse rows): the ordinals of all packs one
// after another, and where each pack begins. Within a pack ordinals ascend;
// packs are in release order, the order in which a trainer should take them.

#ifndef PACKHOUSE_PACKS_H_
#define PACKHOUSE_PACKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace packhouse {

struct Packs {
  // Pack i holds ordinals[offsets[i]] to ordinals[offsets[i + 1] - 1].
  // offsets[0] is 0 and the last entry is ordinals.size(), always.
  std::vector<uint64_t> offsets = {0};

  // 64-bit ordinals: places of the sequences in their stream, from 0.
  std::vector<uint64_t> ordinals;

  // Number of packs.
  size_t size() const { return offsets.size() - 1; }
  bool empty() const { return offsets.size() == 1; }

  // The ordinals of pack i; i < size(). Valid until *this changes.
  absl::Span<const uint64_t> operator[](size_t i) const {
    return absl::MakeConstSpan(ordinals).subspan(offsets[i],
                                                 offsets[i + 1] - offsets[i]);
  }

  // Appends the packs of `other` after those of *this.
  void Append(const Packs& other);

  // Forgets all packs and keeps the memory.
  void Clear();
};

inline bool operator==(const Packs& a, const Packs& b) {
  return a.offsets == b.offsets && a.ordinals == b.ordinals;
}
inline bool operator!=(const Packs& a, const Packs& b) { return !(a == b); }

}  // namespace packhouse

#endif  // PACKHOUSE_PACKS_H_
