#include "packhouse/histogram.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "packhouse/policy.h"
#include "packing/report.h"
#include "packing/rule.h"
#include "packing/units.h"

namespace packhouse {
namespace {

// Rows that hold all tokens of a sequence, lost ones too, and all of its units:
// what is counted of it is at most so many times the capacity.
uint64_t RowsOf(const PackSpec& spec, uint32_t length) {
  const uint64_t rows =
      length / static_cast<uint64_t>(spec.capacity_tokens) + 1;
  return length <= LongestPiece(spec)
             ? 1
             : std::max<uint64_t>(rows, UnitCount(spec, length));
}

// The histogram by ascending length, each once, none of them zero times, with
// all sums below 2^63 slots.
absl::StatusOr<std::vector<LengthCount>> Collect(
    absl::Span<const LengthCount> histogram, const PackSpec& spec) {
  std::vector<uint32_t> lengths;
  lengths.reserve(histogram.size());
  for (const LengthCount& entry : histogram) lengths.push_back(entry.length);
  if (absl::Status status = CheckLengths(spec, lengths, 0); !status.ok()) {
    return status;
  }
  // No sum is larger than the slots of one unit a row, and at least one row a
  // sequence.
  const uint64_t max_units =
      ((uint64_t{1} << 63) - 1) / static_cast<uint64_t>(spec.capacity_tokens);
  std::map<uint32_t, uint64_t> counts;
  uint64_t left = max_units;
  for (const LengthCount& entry : histogram) {
    const uint64_t rows = RowsOf(spec, entry.length);
    if (entry.count > left / rows) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the counts add up to more than ", max_units,
          " sequences or pieces (2^63 slots of capacity ", spec.capacity_tokens,
          ") at length ", entry.length, ", count ", entry.count));
    }
    left -= entry.count * rows;
    if (entry.count > 0) counts[entry.length] += entry.count;
  }
  std::vector<LengthCount> collected;
  collected.reserve(counts.size());
  for (const auto& [length, count] : counts) {
    collected.push_back({length, count});
  }
  return collected;
}

// Places all sequences of one length after the other, as the windowed rules
// place them one by one. Packs are numbered in the order of opening; a group is
// a run of consecutive numbers with equal content, so that "of equal packs the
// one opened first" is the group with the lowest number.
class GroupPacker {
 public:
  GroupPacker(const Units& units, Prefer prefer)
      : units_(units), prefer_(prefer) {}

  void Place(uint32_t length, uint64_t left) {
    const uint32_t footprint = units_.Footprint(length);
    while (left > 0) {
      auto it = Find(footprint);
      if (it == open_.end()) {
        OpenNew(length, left);
        return;
      }
      const auto [room, first] = it->first;
      Packs packs = std::move(it->second);
      open_.erase(it);
      // spfhp adds one to each pack before any pack gets another; lpfhp fills
      // the tightest pack before it turns to the next.
      const uint64_t copies =
          prefer_ == Prefer::kMostRoom
              ? 1
              : std::min({room / footprint,
                          units_.max_sequences - packs.sequences, left});
      const uint64_t taken = std::min(packs.group.count, left / copies);
      if (taken < packs.group.count) {
        Packs rest = packs;
        rest.group.count -= taken;
        File(room, first + taken, std::move(rest));
      }
      left -= taken * copies;
      packs.group.count = taken;
      packs.Add(length, copies);
      File(room - copies * footprint, first, std::move(packs));
    }
  }

  uint64_t packs() const { return packs_; }

  std::vector<HistogramPlan::Group> Finish() && {
    for (auto& [key, packs] : open_) {
      closed_.emplace(key.second, std::move(packs));
    }
    std::vector<HistogramPlan::Group> groups;
    groups.reserve(closed_.size());
    for (auto& [first, packs] : closed_) {
      groups.push_back(std::move(packs.group));
    }
    return groups;
  }

 private:
  // Equal packs with consecutive numbers.
  struct Packs {
    HistogramPlan::Group group;
    uint64_t sequences = 0;  // in each

    void Add(uint32_t length, uint64_t copies) {
      sequences += copies;
      std::vector<LengthCount>& lengths = group.lengths;
      if (lengths.empty() || lengths.back().length != length) {
        lengths.push_back({length, 0});
      }
      lengths.back().count += copies;
    }
  };

  // (room, number of the first pack) -> packs with that room.
  using OpenPacks = std::map<std::pair<uint64_t, uint64_t>, Packs>;

  OpenPacks::iterator Find(uint64_t footprint) {
    if (prefer_ == Prefer::kLeastRoom) return open_.lower_bound({footprint, 0});
    if (open_.empty()) return open_.end();
    const uint64_t room = std::prev(open_.end())->first.first;
    return room < footprint ? open_.end() : open_.lower_bound({room, 0});
  }

  // New packs take as many copies as they can, the last one what is left.
  void OpenNew(uint32_t length, uint64_t left) {
    const uint64_t copies = std::min(units_.capacity / units_.Footprint(length),
                                     units_.max_sequences);
    OpenEqual(length, copies, left / copies);
    if (left % copies != 0) OpenEqual(length, left % copies, 1);
  }

  void OpenEqual(uint32_t length, uint64_t copies, uint64_t count) {
    if (count == 0) return;
    Packs packs;
    packs.group.count = count;
    packs.Add(length, copies);
    File(units_.capacity - copies * units_.Footprint(length), packs_,
         std::move(packs));
    packs_ += count;
  }

  void File(uint64_t room, uint64_t first, Packs packs) {
    if (packs.sequences == units_.max_sequences) {
      closed_.emplace(first, std::move(packs));
    } else {
      open_.emplace(std::pair{room, first}, std::move(packs));
    }
  }

  const Units units_;
  const Prefer prefer_;
  OpenPacks open_;
  std::map<uint64_t, Packs> closed_;  // by number of the first pack
  uint64_t packs_ = 0;
};

}  // namespace

absl::StatusOr<HistogramPlan> PlanHistogram(
    absl::Span<const LengthCount> histogram, const PackSpec& spec) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  const absl::optional<Prefer> prefer = PreferenceOf(spec);
  if (!prefer.has_value()) {
    return absl::UnimplementedError(
        absl::StrCat("a histogram cannot be packed by ", spec.algorithm,
                     ", which depends on the order of the sequences"));
  }
  const absl::StatusOr<std::vector<LengthCount>> counts =
      Collect(histogram, spec);
  if (!counts.ok()) return counts.status();
  GroupPacker packer(Units(spec), *prefer);
  const std::vector<LengthCount> units = UnitLengths(*counts, spec);
  for (auto it = units.rbegin(); it != units.rend(); ++it) {
    packer.Place(it->length, it->count);
  }
  HistogramPlan plan;
  plan.report = ReportOfCounts(*counts, spec, packer.packs());
  plan.groups = std::move(packer).Finish();
  return plan;
}

}  // namespace packhouse
