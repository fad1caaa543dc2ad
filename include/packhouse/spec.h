// What a packer is asked to do.
//
// A PackSpec is a plain value: the capacity of a pack, the rule that fills it
// and the limits that hold inside it. Packs are a function of the spec, the
// accepted lengths in order and the places of the flushes, and of nothing else
// (no clock, no thread, no message size); `best` alone looks at a clock too.
//
// Capacity is measured in *footprints*: a length rounded up to
// `sequence_alignment`. Every sequence of a pack is rounded up, the last one
// too.

#ifndef PACKHOUSE_SPEC_H_
#define PACKHOUSE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"

namespace packhouse {

// Limits of the fields below. They keep every index inside a window in 32 bits
// and every sum of tokens in 64.
inline constexpr int64_t kMaxCapacityTokens = (int64_t{1} << 31) - 1;
inline constexpr int64_t kMaxWindowSequences = (int64_t{1} << 31) - 1;
inline constexpr int64_t kMaxSequencesPerPack = (int64_t{1} << 31) - 1;
inline constexpr int64_t kMaxDisplacementSequences = (int64_t{1} << 33) - 4;
inline constexpr double kMaxBudgetSeconds = 86400;

// Pieces that one sequence may be split into.
inline constexpr int64_t kMaxPiecesPerSequence = int64_t{1} << 16;

// What becomes of a sequence whose footprint is larger than the capacity. The
// longest piece that fits is the largest multiple of the alignment within the
// capacity (LongestPiece).
enum class Overlong {
  kError,         // refused
  kDrop,          // counted, in no pack
  kTruncate,      // packed as the longest piece of its head
  kTruncateHead,  // packed as the longest piece of its tail: the head is cut
  kSplit,         // packed as longest pieces from the head, the remainder last
};

// What becomes of a sequence without tokens.
enum class Empty {
  kError,  // refused
  kDrop,   // counted, in no pack
};

// How hard `sliding` tries.
enum class Effort { kFast, kBalanced, kThorough };

// What users call these values, in their order.
inline constexpr const char* kOverlongNames[] = {"error", "drop", "truncate",
                                                 "truncate_head", "split"};
inline constexpr const char* kEmptyNames[] = {"error", "drop"};
inline constexpr const char* kEffortNames[] = {"fast", "balanced", "thorough"};

// Fields are signed and wide so that a value out of range arrives at
// ValidateSpec as the user wrote it, and is named in the error.
struct PackSpec {
  // Tokens that a pack holds. Required: 1 to kMaxCapacityTokens.
  int64_t capacity_tokens = 0;

  // Name of the packing rule, one of AlgorithmNames().
  std::string algorithm = "spfhp";

  // How many sequences are looked at together: 1 to kMaxWindowSequences. A
  // window at least as long as the list is the whole list.
  int64_t window_sequences = 1024;

  // Sequences that a pack may hold: 1 to kMaxSequencesPerPack, or 0 for no
  // limit.
  int64_t max_sequences_per_pack = 0;

  // Multiple that each sequence is rounded up to, in tokens: 1 to
  // capacity_tokens.
  int64_t sequence_alignment = 1;

  Overlong overlong = Overlong::kError;
  Empty empty = Empty::kError;

  // Where it is there (0 is a seed too), the packs of each window are released
  // in a pseudo-random order that depends on it and on the window's number
  // only. Not for `sliding`, which has no windows.
  absl::optional<uint64_t> seed;

  // Of `sliding`; any other rule has kBalanced.
  Effort effort = Effort::kBalanced;

  // Of `sliding`: no sequence waits for more later arrivals than this, 1 to
  // kMaxDisplacementSequences, or 0 for 4 windows. 0 for any other rule, which
  // stays below a window.
  int64_t max_displacement = 0;

  // Of `best`: how long it may search, up to kMaxBudgetSeconds, or 0 for a
  // second. 0 for any other rule.
  double budget_seconds = 0;
};

bool operator==(const PackSpec& a, const PackSpec& b);
inline bool operator!=(const PackSpec& a, const PackSpec& b) {
  return !(a == b);
}

// The rules that this build knows, in the order in which they are documented.
std::vector<std::string> AlgorithmNames();

// True for a rule that packs streams: a Packer takes it. The others pack whole
// lists only (Plan). False for a name that AlgorithmNames does not have.
bool IsOnline(absl::string_view algorithm);

// OK, or INVALID_ARGUMENT that names every violation at once, each with the
// field, its value and the limit.
absl::Status ValidateSpec(const PackSpec& spec);

// Tokens that `length` takes up in a pack: rounded up to the alignment.
// Requires a valid spec.
uint64_t Footprint(const PackSpec& spec, uint64_t length);

// The longest sequence that fits a pack: the largest multiple of the alignment
// within the capacity. Requires a valid spec.
uint32_t LongestPiece(const PackSpec& spec);

// The longest sequence that `overlong` does not refuse. Requires a valid spec.
uint32_t LongestAccepted(const PackSpec& spec);

// OK, or INVALID_ARGUMENT that names the first few sequences that the policies
// of the spec refuse (ordinal, length, limit) and how many there are; the text
// stays under 2 kB whatever the input. Refused are lengths of 0 where `empty`
// is kError, and footprints over the capacity where `overlong` is kError.
// `first_ordinal` is the ordinal of lengths[0]. Requires a valid spec.
// O(lengths), a fraction of a nanosecond each.
absl::Status CheckLengths(const PackSpec& spec,
                          absl::Span<const uint32_t> lengths,
                          uint64_t first_ordinal);

}  // namespace packhouse

#endif  // PACKHOUSE_SPEC_H_
