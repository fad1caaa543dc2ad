#include <algorithm>
#include <vector>

#include "packhouse/plan_check.h"
#include "packing/footprint_sort.h"
#include "packing/lower_bound.h"

namespace packhouse {
namespace {

// Sequences of a batch in the comparison with padding to the longest.
constexpr size_t kPaddedBatch = 8;

absl::Status CheckInput(absl::Span<const uint32_t> lengths,
                        const PackSpec& spec) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  return CheckLengths(spec, lengths, 0);
}

// Ascending counts of footprints, in multiples of the alignment.
std::vector<FootprintCount> CountFootprints(absl::Span<const uint32_t> lengths,
                                            const PackSpec& spec) {
  const uint32_t alignment = static_cast<uint32_t>(spec.sequence_alignment);
  std::vector<uint32_t> footprints(lengths.begin(), lengths.end());
  if (alignment > 1) {
    for (uint32_t& f : footprints) f = (f - 1) / alignment + 1;
  }
  FootprintSort sort;
  std::vector<FootprintCount> counts;
  for (const SortedUnit& unit : sort.Descending(footprints)) {
    if (counts.empty() || counts.back().footprint != unit.footprint) {
      counts.push_back({unit.footprint, 0});
    }
    ++counts.back().count;
  }
  std::reverse(counts.begin(), counts.end());
  return counts;
}

uint64_t LowerBoundOfValid(absl::Span<const uint32_t> lengths,
                           const PackSpec& spec) {
  return LowerBound(
      CountFootprints(lengths, spec),
      static_cast<uint32_t>(spec.capacity_tokens / spec.sequence_alignment),
      static_cast<uint64_t>(spec.max_sequences_per_pack));
}

// The largest displacement, in one look at each pack: it is the displacement of
// a sequence that was the oldest still waiting when its pack was released (any
// other waited no longer, behind fewer later ones). All older ones had left by
// then, so of the sequences released before it all but its own ordinal are
// later ones. For a sequence that was not the oldest the same difference only
// understates its displacement, so the maximum over the first ordinals of all
// packs is right.
uint64_t MaxDisplacement(const Packs& packs) {
  uint64_t largest = 0;
  for (size_t i = 0; i < packs.size(); ++i) {
    const uint64_t released = packs.offsets[i];
    const uint64_t first = packs[i].front();
    if (released > first) largest = std::max(largest, released - first);
  }
  return largest;
}

uint64_t PadToLongestSlots(absl::Span<const uint32_t> lengths) {
  uint64_t slots = 0;
  for (size_t i = 0; i < lengths.size(); i += kPaddedBatch) {
    const absl::Span<const uint32_t> batch = lengths.subspan(i, kPaddedBatch);
    slots +=
        uint64_t{*std::max_element(batch.begin(), batch.end())} * batch.size();
  }
  return slots;
}

}  // namespace

absl::StatusOr<uint64_t> LowerBoundPacks(absl::Span<const uint32_t> lengths,
                                         const PackSpec& spec) {
  if (absl::Status status = CheckInput(lengths, spec); !status.ok()) {
    return status;
  }
  return LowerBoundOfValid(lengths, spec);
}

absl::optional<double> PackReport::efficiency() const {
  if (packs == 0) return absl::nullopt;
  return static_cast<double>(tokens) / static_cast<double>(slots());
}

void PackReport::Merge(const PackReport& other) {
  sequences += other.sequences;
  tokens += other.tokens;
  packs += other.packs;
  capacity_tokens = std::max(capacity_tokens, other.capacity_tokens);
  lower_bound_packs += other.lower_bound_packs;
  waste_tail_tokens += other.waste_tail_tokens;
  waste_alignment_tokens += other.waste_alignment_tokens;
  max_displacement = std::max(max_displacement, other.max_displacement);
  one_per_row_slots += other.one_per_row_slots;
  pad_to_longest_slots += other.pad_to_longest_slots;
}

absl::StatusOr<PackReport> Summarize(absl::Span<const uint32_t> lengths,
                                     const PackSpec& spec, const Packs& packs) {
  if (absl::Status status = CheckInput(lengths, spec); !status.ok()) {
    return status;
  }
  PackReport report;
  report.sequences = lengths.size();
  uint64_t footprint_tokens = 0;
  for (uint32_t length : lengths) {
    report.tokens += length;
    footprint_tokens += Footprint(spec, length);
  }
  report.packs = packs.size();
  report.capacity_tokens = static_cast<uint64_t>(spec.capacity_tokens);
  report.lower_bound_packs = LowerBoundOfValid(lengths, spec);
  report.waste_tail_tokens = report.slots() - footprint_tokens;
  report.waste_alignment_tokens = footprint_tokens - report.tokens;
  report.max_displacement = MaxDisplacement(packs);
  report.one_per_row_slots = report.sequences * report.capacity_tokens;
  report.pad_to_longest_slots = PadToLongestSlots(lengths);
  return report;
}

}  // namespace packhouse
