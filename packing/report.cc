#include "packing/report.h"

#include <algorithm>
#include <vector>

#include "packhouse/plan_check.h"
#include "packing/footprint_sort.h"
#include "packing/lower_bound.h"
#include "packing/units.h"

namespace packhouse {
namespace {

// Sequences of a batch in the comparison with padding to the longest.
constexpr size_t kPaddedBatch = 8;

absl::Status CheckInput(absl::Span<const uint32_t> lengths,
                        const PackSpec& spec) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  return CheckLengths(spec, lengths, 0);
}

// How often each length occurs, ascending.
std::vector<LengthCount> CountLengths(absl::Span<const uint32_t> lengths) {
  FootprintSort sort;
  std::vector<LengthCount> counts;
  for (const SortedUnit& unit : sort.Descending(lengths)) {
    if (counts.empty() || counts.back().length != unit.footprint) {
      counts.push_back({unit.footprint, 0});
    }
    ++counts.back().count;
  }
  std::reverse(counts.begin(), counts.end());
  return counts;
}

uint64_t LowerBoundOfCounts(absl::Span<const LengthCount> lengths,
                            const PackSpec& spec) {
  const Units units(spec);
  std::vector<FootprintCount> footprints;
  for (const LengthCount& c : lengths) {
    const uint32_t footprint = units.Footprint(c.length);
    if (footprints.empty() || footprints.back().footprint != footprint) {
      footprints.push_back({footprint, 0});
    }
    footprints.back().count += c.count;
  }
  return LowerBound(footprints, units.capacity, units.max_sequences);
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

PackReport ReportOfCounts(absl::Span<const LengthCount> lengths,
                          const PackSpec& spec, uint64_t packs) {
  PackReport report;
  uint64_t footprint_tokens = 0;
  for (const LengthCount& c : lengths) {
    report.sequences += c.count;
    report.tokens += c.length * c.count;
    footprint_tokens += Footprint(spec, c.length) * c.count;
  }
  report.packs = packs;
  report.capacity_tokens = static_cast<uint64_t>(spec.capacity_tokens);
  report.lower_bound_packs = LowerBoundOfCounts(lengths, spec);
  report.waste_tail_tokens = report.slots() - footprint_tokens;
  report.waste_alignment_tokens = footprint_tokens - report.tokens;
  report.one_per_row_slots = report.sequences * report.capacity_tokens;
  return report;
}

absl::StatusOr<uint64_t> LowerBoundPacks(absl::Span<const uint32_t> lengths,
                                         const PackSpec& spec) {
  if (absl::Status status = CheckInput(lengths, spec); !status.ok()) {
    return status;
  }
  return LowerBoundOfCounts(CountLengths(lengths), spec);
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
  PackReport report = ReportOfCounts(CountLengths(lengths), spec, packs.size());
  report.max_displacement = MaxDisplacement(packs);
  report.pad_to_longest_slots = PadToLongestSlots(lengths);
  return report;
}

}  // namespace packhouse
