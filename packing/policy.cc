#include "packhouse/policy.h"

#include <algorithm>

namespace packhouse {
namespace {

constexpr uint64_t IntakeCounts::*kCounts[] = {
    &IntakeCounts::sequences,
    &IntakeCounts::tokens,
    &IntakeCounts::units,
    &IntakeCounts::packed_tokens,
    &IntakeCounts::footprint_tokens,
    &IntakeCounts::empty_sequences,
    &IntakeCounts::dropped_sequences,
    &IntakeCounts::dropped_tokens,
    &IntakeCounts::truncated_sequences,
    &IntakeCounts::truncated_tokens,
    &IntakeCounts::split_sequences,
    &IntakeCounts::extra_pieces,
};
static_assert(sizeof kCounts / sizeof kCounts[0] ==
              sizeof(IntakeCounts) / sizeof(uint64_t));

// True where all lengths are packed whole. Subtracting 1 makes 0 the largest.
bool AllWhole(absl::Span<const uint32_t> lengths, uint32_t longest) {
  uint32_t largest = 0;
  for (const uint32_t length : lengths) largest = std::max(largest, length - 1);
  return largest < longest;
}

uint64_t Sum(absl::Span<const uint32_t> lengths) {
  uint64_t sum = 0;
  for (const uint32_t length : lengths) sum += length;
  return sum;
}

// The sum of Footprint. A division for each length (2 ns) would be most of what
// a session costs. Requires lengths from 1 to kMaxCapacityTokens.
uint64_t SumFootprints(absl::Span<const uint32_t> lengths, int64_t alignment) {
  // With length - 1 = q * alignment + r, the product below is
  // q + (r + 0.5) / alignment. It is at least 0.5 / alignment away from the
  // next integer, and rounding is off by less than q * 2^-51 with
  // q < 2^31 / alignment: so the integer part is exactly q.
  const double inverse = 1.0 / static_cast<double>(alignment);
  uint64_t multiples = lengths.size();
  for (const uint32_t length : lengths) {
    const double before = static_cast<int32_t>(length) - 0.5;
    multiples += static_cast<uint32_t>(static_cast<int32_t>(before * inverse));
  }
  return multiples * static_cast<uint64_t>(alignment);
}

IntakeCounts CountWhole(const PackSpec& spec,
                        absl::Span<const uint32_t> lengths) {
  IntakeCounts counts;
  counts.sequences = counts.units = lengths.size();
  counts.tokens = counts.packed_tokens = Sum(lengths);
  counts.footprint_tokens =
      spec.sequence_alignment == 1
          ? counts.tokens
          : SumFootprints(lengths, spec.sequence_alignment);
  return counts;
}

// `longest` is LongestPiece(spec).
void CountOne(const PackSpec& spec, uint32_t longest, uint32_t length,
              IntakeCounts* counts) {
  ++counts->sequences;
  counts->tokens += length;
  if (length == 0) {
    ++counts->empty_sequences;
  } else if (length <= longest) {
    ++counts->units;
    counts->packed_tokens += length;
    counts->footprint_tokens += Footprint(spec, length);
  } else if (spec.overlong == Overlong::kDrop) {
    ++counts->dropped_sequences;
    counts->dropped_tokens += length;
  } else if (spec.overlong == Overlong::kSplit) {
    const uint32_t units = UnitCount(spec, length);
    counts->units += units;
    counts->packed_tokens += length;
    counts->footprint_tokens += Footprint(spec, length);
    ++counts->split_sequences;
    counts->extra_pieces += units - 1;
  } else {
    ++counts->units;
    counts->packed_tokens += longest;
    counts->footprint_tokens += longest;
    ++counts->truncated_sequences;
    counts->truncated_tokens += length - longest;
  }
}

}  // namespace

uint32_t UnitCount(const PackSpec& spec, uint32_t length) {
  if (length == 0) return 0;
  const uint32_t longest = LongestPiece(spec);
  if (length <= longest) return 1;
  if (spec.overlong == Overlong::kDrop) return 0;
  if (spec.overlong == Overlong::kSplit) return (length - 1) / longest + 1;
  return 1;
}

uint32_t UnitTokens(const PackSpec& spec, uint32_t length,
                    uint32_t source_offset) {
  return std::min(length - source_offset, LongestPiece(spec));
}

std::vector<uint32_t> PackedTokens(const PackSpec& spec,
                                   absl::Span<const uint32_t> lengths,
                                   uint64_t first_ordinal, const Packs& packs) {
  const uint32_t longest = LongestPiece(spec);
  std::vector<uint32_t> tokens(packs.ordinals.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const uint32_t length = lengths[packs.ordinals[i] - first_ordinal];
    tokens[i] = std::min(length - packs.source_offset(i), longest);
  }
  return tokens;
}

uint32_t UnitOffset(const PackSpec& spec, uint32_t length, uint32_t index) {
  const uint32_t longest = LongestPiece(spec);
  if (length > longest && spec.overlong == Overlong::kTruncateHead) {
    return length - longest;
  }
  return index * longest;
}

std::vector<Fate> Fates(const PackSpec& spec,
                        absl::Span<const uint32_t> lengths,
                        uint64_t first_ordinal) {
  const uint32_t longest = LongestPiece(spec);
  std::vector<Fate> fates;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const uint32_t length = lengths[i];
    if (length - 1 < longest) continue;
    Fate fate{first_ordinal + i, Fate::Kind::kTruncated, length, longest,
              UnitCount(spec, length)};
    if (fate.units == 0) {
      fate.kind = length == 0 ? Fate::Kind::kEmpty : Fate::Kind::kDropped;
      fate.packed_tokens = 0;
    } else if (spec.overlong == Overlong::kSplit) {
      fate.kind = Fate::Kind::kSplit;
      fate.packed_tokens = length;
    }
    fates.push_back(fate);
  }
  return fates;
}

IntakeCounts& IntakeCounts::operator+=(const IntakeCounts& other) {
  for (const auto field : kCounts) this->*field += other.*field;
  return *this;
}

IntakeCounts& IntakeCounts::operator-=(const IntakeCounts& other) {
  for (const auto field : kCounts) this->*field -= other.*field;
  return *this;
}

IntakeCounts IntakeCounts::operator*(uint64_t times) const {
  IntakeCounts product = *this;
  for (const auto field : kCounts) product.*field *= times;
  return product;
}

IntakeCounts CountIntake(const PackSpec& spec,
                         absl::Span<const uint32_t> lengths) {
  const uint32_t longest = LongestPiece(spec);
  if (AllWhole(lengths, longest)) return CountWhole(spec, lengths);
  IntakeCounts counts;
  for (const uint32_t length : lengths) {
    CountOne(spec, longest, length, &counts);
  }
  return counts;
}

}  // namespace packhouse
