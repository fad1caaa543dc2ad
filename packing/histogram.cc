#include "packhouse/histogram.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "packing/lower_bound.h"

namespace packhouse {
namespace {

// Lengths by descending size, each once, none of them zero times.
using Counts = std::map<uint32_t, uint64_t, std::greater<>>;

absl::StatusOr<Counts> Collect(absl::Span<const LengthCount> histogram,
                               const PackSpec& spec) {
  constexpr uint64_t kMaxSequences = uint64_t{1} << 63;
  std::vector<uint32_t> lengths;
  for (const LengthCount& entry : histogram) lengths.push_back(entry.length);
  if (absl::Status status = CheckLengths(spec, lengths, 0); !status.ok()) {
    return status;
  }
  Counts counts;
  uint64_t sequences = 0;
  for (const LengthCount& entry : histogram) {
    if (entry.count >= kMaxSequences - sequences) {
      return absl::InvalidArgumentError(
          absl::StrCat("the counts of the histogram add up to 2^63 or more at "
                       "length ",
                       entry.length, ", count ", entry.count));
    }
    sequences += entry.count;
    if (entry.count > 0) counts[entry.length] += entry.count;
  }
  return counts;
}

// Places all sequences of one length after the other, as the windowed rules
// place them one by one. Packs are numbered in the order of opening; a group is
// a run of consecutive numbers with equal content, so that "of equal packs the
// one opened first" is the group with the lowest number.
class GroupPacker {
 public:
  GroupPacker(const PackSpec& spec, bool most_room)
      : capacity_(static_cast<uint64_t>(spec.capacity_tokens)),
        max_sequences_(
            spec.max_sequences_per_pack == 0
                ? ~uint64_t{0}
                : static_cast<uint64_t>(spec.max_sequences_per_pack)),
        most_room_(most_room) {}

  void Place(uint32_t length, uint64_t footprint, uint64_t left) {
    while (left > 0) {
      auto it = Find(footprint);
      if (it == open_.end()) {
        Open(length, footprint, left);
        return;
      }
      const auto [room, first] = it->first;
      HistogramPlan::Group group = std::move(it->second);
      open_.erase(it);
      // spfhp adds one to each pack before any pack gets another; lpfhp fills
      // the tightest pack before it turns to the next.
      const uint64_t copies =
          most_room_ ? 1 : std::min({room / footprint, SlotsLeft(group), left});
      const uint64_t packs = std::min(group.count, left / copies);
      if (packs < group.count) {
        File(room, first + packs, {group.lengths, group.count - packs});
      }
      left -= packs * copies;
      group.count = packs;
      group.lengths.insert(group.lengths.end(), copies, length);
      File(room - copies * footprint, first, std::move(group));
    }
  }

  std::vector<HistogramPlan::Group> Finish() && {
    for (auto& [key, group] : open_) {
      closed_.emplace(key.second, std::move(group));
    }
    std::vector<HistogramPlan::Group> groups;
    for (auto& [first, group] : closed_) groups.push_back(std::move(group));
    return groups;
  }

  uint64_t packs() const { return packs_; }

 private:
  // (room, number of the first pack) -> packs with that room.
  using OpenGroups =
      std::map<std::pair<uint64_t, uint64_t>, HistogramPlan::Group>;

  OpenGroups::iterator Find(uint64_t footprint) {
    if (!most_room_) return open_.lower_bound({footprint, 0});
    if (open_.empty()) return open_.end();
    const uint64_t room = std::prev(open_.end())->first.first;
    return room < footprint ? open_.end() : open_.lower_bound({room, 0});
  }

  // New packs take as many copies as they can, the last one what is left.
  void Open(uint32_t length, uint64_t footprint, uint64_t left) {
    const uint64_t copies = std::min(capacity_ / footprint, max_sequences_);
    for (const auto& [each, count] : {std::pair{copies, left / copies},
                                      std::pair{left % copies, uint64_t{1}}}) {
      if (each == 0 || count == 0) continue;
      File(capacity_ - each * footprint, packs_,
           {std::vector<uint32_t>(each, length), count});
      packs_ += count;
    }
  }

  void File(uint64_t room, uint64_t first, HistogramPlan::Group group) {
    if (SlotsLeft(group) == 0) {
      closed_.emplace(first, std::move(group));
    } else {
      open_.emplace(std::pair{room, first}, std::move(group));
    }
  }

  uint64_t SlotsLeft(const HistogramPlan::Group& group) const {
    return max_sequences_ - group.lengths.size();
  }

  const uint64_t capacity_;
  const uint64_t max_sequences_;
  const bool most_room_;
  OpenGroups open_;
  std::map<uint64_t, HistogramPlan::Group> closed_;  // by first number
  uint64_t packs_ = 0;
};

PackReport Report(const Counts& counts, const PackSpec& spec, uint64_t packs) {
  PackReport report;
  std::map<uint32_t, uint64_t> footprints;
  uint64_t footprint_tokens = 0;
  for (const auto& [length, count] : counts) {
    const uint64_t footprint = Footprint(spec, length);
    report.sequences += count;
    report.tokens += length * count;
    footprint_tokens += footprint * count;
    footprints[static_cast<uint32_t>(
        footprint / static_cast<uint64_t>(spec.sequence_alignment))] += count;
  }
  std::vector<FootprintCount> footprint_counts;
  for (const auto& [footprint, count] : footprints) {
    footprint_counts.push_back({footprint, count});
  }
  report.packs = packs;
  report.capacity_tokens = static_cast<uint64_t>(spec.capacity_tokens);
  report.lower_bound_packs = LowerBound(
      footprint_counts,
      static_cast<uint32_t>(spec.capacity_tokens / spec.sequence_alignment),
      static_cast<uint64_t>(spec.max_sequences_per_pack));
  report.waste_tail_tokens = report.slots() - footprint_tokens;
  report.waste_alignment_tokens = footprint_tokens - report.tokens;
  report.one_per_row_slots = report.sequences * report.capacity_tokens;
  return report;
}

}  // namespace

absl::StatusOr<HistogramPlan> PlanHistogram(
    absl::Span<const LengthCount> histogram, const PackSpec& spec) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  absl::StatusOr<Counts> counts = Collect(histogram, spec);
  if (!counts.ok()) return counts.status();
  GroupPacker packer(spec, spec.algorithm == "spfhp");
  for (const auto& [length, count] : *counts) {
    packer.Place(length, Footprint(spec, length), count);
  }
  HistogramPlan plan;
  plan.report = Report(*counts, spec, packer.packs());
  plan.groups = std::move(packer).Finish();
  return plan;
}

}  // namespace packhouse
