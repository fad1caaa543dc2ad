#include "packing/report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>
#include <vector>

#include "packhouse/plan_check.h"
#include "packing/counts.h"
#include "packing/lower_bound.h"
#include "packing/units.h"

namespace packhouse {
namespace {

absl::Status CheckInput(absl::Span<const uint32_t> lengths,
                        const PackSpec& spec) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  return CheckLengths(spec, lengths, 0);
}

uint64_t LowerBoundOfUnits(absl::Span<const LengthCount> lengths,
                           const PackSpec& spec) {
  const Units units(spec);
  return LowerBound(CountFootprints(lengths, units), units.capacity,
                    units.max_sequences);
}

// The tokens of all units, in order of arrival.
std::vector<uint32_t> UnitsInOrder(absl::Span<const uint32_t> lengths,
                                   const PackSpec& spec,
                                   absl::Span<const Fate> fates) {
  std::vector<uint32_t> units;
  units.reserve(lengths.size());
  uint64_t next = 0;
  for (const Fate& fate : fates) {
    units.insert(units.end(), lengths.begin() + next,
                 lengths.begin() + fate.ordinal);
    for (uint32_t i = 0; i < fate.units; ++i) {
      const uint32_t offset = UnitOffset(spec, fate.length, i);
      units.push_back(UnitTokens(spec, fate.length, offset));
    }
    next = fate.ordinal + 1;
  }
  units.insert(units.end(), lengths.begin() + next, lengths.end());
  return units;
}

// Numbers units in order of arrival.
class Arrivals {
 public:
  Arrivals(const PackSpec& spec, absl::Span<const Fate> fates)
      : longest_(LongestPiece(spec)),
        splits_(spec.overlong == Overlong::kSplit) {
    shifts_.push_back({0, 0});
    for (const Fate& fate : fates) {
      shifts_.push_back(
          {fate.ordinal + 1, shifts_.back().shift + fate.units - 1});
    }
  }

  uint64_t Number(uint64_t ordinal, uint32_t source_offset) const {
    const auto behind = std::upper_bound(
        shifts_.begin(), shifts_.end(), ordinal,
        [](uint64_t o, const Shift& shift) { return o < shift.ordinal; });
    return ordinal + std::prev(behind)->shift + Piece(source_offset);
  }

  // The place of a unit among those of its sequence.
  uint32_t Piece(uint32_t source_offset) const {
    return splits_ ? source_offset / longest_ : 0;
  }

 private:
  // From this ordinal on, units are so many numbers further than ordinals. It
  // wraps around below 0, and back where it is added.
  struct Shift {
    uint64_t ordinal;
    uint64_t shift;
  };

  std::vector<Shift> shifts_;
  uint32_t longest_;
  bool splits_;
};

// The largest displacement, in one look at each pack: it is the displacement of
// a unit that was the oldest still waiting when its pack was released (any
// other waited no longer, behind fewer later ones). All older ones had left by
// then, so of the units released before it all but its own number are later
// ones. For a unit that was not the oldest the same difference only understates
// its displacement, so the maximum over the first units of all packs is right.
// Pieces count with their ordinal: later ones of the same sequence do not.
uint64_t MaxDisplacement(const PackSpec& spec, absl::Span<const Fate> fates,
                         const Packs& packs) {
  const Arrivals arrivals(spec, fates);
  std::unordered_map<uint64_t, uint64_t> pieces;  // of split ones: released
  for (const Fate& fate : fates) {
    if (fate.units > 1) pieces[fate.ordinal] = 0;
  }
  uint64_t largest = 0;
  for (size_t i = 0; i < packs.size(); ++i) {
    const uint64_t released = packs.offsets[i];
    const uint64_t ordinal = packs.ordinals[released];
    const uint32_t offset = packs.source_offset(released);
    uint64_t earlier = arrivals.Number(ordinal, offset);
    if (const auto it = pieces.find(ordinal); it != pieces.end()) {
      earlier +=
          it->second - std::min<uint64_t>(it->second, arrivals.Piece(offset));
    }
    if (released > earlier) largest = std::max(largest, released - earlier);
    if (pieces.empty()) continue;
    for (size_t entry = released; entry < packs.offsets[i + 1]; ++entry) {
      const auto it = pieces.find(packs.ordinals[entry]);
      if (it != pieces.end()) ++it->second;
    }
  }
  return largest;
}

uint64_t PadToLongestSlots(absl::Span<const uint32_t> units) {
  uint64_t slots = 0;
  for (size_t i = 0; i < units.size(); i += kPaddedBatchUnits) {
    const absl::Span<const uint32_t> batch =
        units.subspan(i, kPaddedBatchUnits);
    slots +=
        uint64_t{*std::max_element(batch.begin(), batch.end())} * batch.size();
  }
  return slots;
}

}  // namespace

std::vector<LengthCount> UnitLengths(absl::Span<const LengthCount> lengths,
                                     const PackSpec& spec) {
  std::map<uint32_t, uint64_t> counts;
  for (const LengthCount& c : lengths) {
    const uint32_t units = UnitCount(spec, c.length);
    if (units == 0) continue;
    // All pieces but the last are equal.
    const uint32_t last = UnitOffset(spec, c.length, units - 1);
    counts[UnitTokens(spec, c.length, last)] += c.count;
    if (units > 1) counts[LongestPiece(spec)] += c.count * (units - 1);
  }
  std::vector<LengthCount> units;
  units.reserve(counts.size());
  for (const auto& [length, count] : counts) units.push_back({length, count});
  return units;
}

PackReport ReportOfCounts(absl::Span<const LengthCount> lengths,
                          const PackSpec& spec, uint64_t packs) {
  PackReport report;
  for (const LengthCount& c : lengths) {
    report.intake += CountIntake(spec, {c.length}) * c.count;
  }
  report.packs = packs;
  report.capacity_tokens = static_cast<uint64_t>(spec.capacity_tokens);
  report.lower_bound_packs =
      LowerBoundOfUnits(UnitLengths(lengths, spec), spec);
  report.waste_tail_tokens = report.slots() - report.intake.footprint_tokens;
  report.waste_alignment_tokens =
      report.intake.footprint_tokens - report.intake.packed_tokens;
  report.one_per_row_slots = report.intake.units * report.capacity_tokens;
  return report;
}

absl::StatusOr<uint64_t> LowerBoundPacks(absl::Span<const uint32_t> lengths,
                                         const PackSpec& spec) {
  if (absl::Status status = CheckInput(lengths, spec); !status.ok()) {
    return status;
  }
  return LowerBoundOfUnits(UnitLengths(CountLengths(lengths), spec), spec);
}

absl::optional<double> PackReport::efficiency() const {
  if (packs == 0) return absl::nullopt;
  return static_cast<double>(intake.packed_tokens) /
         static_cast<double>(slots());
}

void PackReport::Merge(const PackReport& other) {
  intake += other.intake;
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
  const std::vector<Fate> fates = Fates(spec, lengths, 0);
  report.max_displacement = MaxDisplacement(spec, fates, packs);
  report.pad_to_longest_slots =
      fates.empty() ? PadToLongestSlots(lengths)
                    : PadToLongestSlots(UnitsInOrder(lengths, spec, fates));
  return report;
}

}  // namespace packhouse
