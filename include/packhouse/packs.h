// The answer of a packer: which sequences share a pack.
//
// Packs are columnar (compressed sparse rows): the ordinals of all packs one
// after another, and where each pack begins. Within a pack ordinals ascend, and
// source offsets where a pack has several pieces of one sequence; packs are in
// release order, the order in which a trainer should take them.

#ifndef PACKHOUSE_PACKS_H_
#define PACKHOUSE_PACKS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

namespace packhouse {

struct Packs {
  // Pack i holds ordinals[offsets[i]] to ordinals[offsets[i + 1] - 1].
  // offsets[0] is 0 and the last entry is ordinals.size(), always.
  std::vector<uint64_t> offsets = {0};

  // 64-bit ordinals: places of the sequences in their stream, from 0.
  std::vector<uint64_t> ordinals;

  // Beside `ordinals`: where in its sequence each unit begins, in tokens. Empty
  // where all begin at 0: only a piece and what is left of a cut head begin
  // later. How many tokens a unit has follows from its length and the spec
  // (UnitTokens, packhouse/policy.h).
  std::vector<uint32_t> source_offsets;

  // Of entry i of `ordinals`.
  uint32_t source_offset(size_t i) const {
    return source_offsets.empty() ? 0 : source_offsets[i];
  }

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

  // The packs from number `begin` to before `end`; begin <= end <= size().
  Packs Slice(size_t begin, size_t end) const;

  // Forgets all packs and keeps the memory.
  void Clear();
};

// OK where the columns fit together as said above, so that packs can be looked
// at one by one; else INVALID_ARGUMENT. Says nothing about ordinals. For packs
// that come from elsewhere: those of a packer are right.
absl::Status CheckColumns(const Packs& packs);

// True where both say the same, whether offsets of 0 are written out or not.
bool operator==(const Packs& a, const Packs& b);
inline bool operator!=(const Packs& a, const Packs& b) { return !(a == b); }

}  // namespace packhouse

#endif  // PACKHOUSE_PACKS_H_
