#include "packhouse/histogram.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "packhouse/policy.h"
#include "packing/counts.h"
#include "packing/offline/budget.h"
#include "packing/offline/decreasing.h"
#include "packing/offline/pack_counts.h"
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

// Gives the units of groups of footprints their lengths: of equal footprints
// the longest go into the first packs. `lengths` ascend.
std::vector<HistogramPlan::Group> BindLengths(
    const FootprintGroups& groups, absl::Span<const LengthCount> lengths,
    const Units& units) {
  std::vector<LengthCount> left(lengths.begin(), lengths.end());
  std::map<uint32_t, size_t>
      longest;  // by footprint: index of one that is left
  for (size_t i = 0; i < left.size(); ++i) {
    longest[units.Footprint(left[i].length)] = i;
  }
  std::vector<HistogramPlan::Group> bound;
  for (const FootprintGroup& group : groups) {
    for (uint64_t packs = group.count; packs > 0;) {
      HistogramPlan::Group some = {{}, packs};
      std::vector<size_t> used;
      for (const FootprintCount& c : group.footprints) {
        uint64_t missing = c.count;
        for (size_t i = longest[c.footprint]; missing > 0; --i) {
          if (left[i].count == 0) continue;
          const uint64_t taken = std::min(missing, left[i].count);
          some.lengths.push_back({left[i].length, taken});
          some.count = std::min(some.count, left[i].count / taken);
          used.push_back(i);
          missing -= taken;
        }
      }
      for (size_t k = 0; k < used.size(); ++k) {
        LengthCount& from = left[used[k]];
        from.count -= some.count * some.lengths[k].count;
        size_t& next = longest[units.Footprint(from.length)];
        while (next > 0 && left[next].count == 0) --next;
      }
      packs -= some.count;
      bound.push_back(std::move(some));
    }
  }
  return bound;
}

}  // namespace

absl::StatusOr<HistogramPlan> PlanHistogram(
    absl::Span<const LengthCount> histogram, const PackSpec& spec,
    PlanNotes* notes) {
  if (absl::Status status = ValidateSpec(spec); !status.ok()) return status;
  const absl::optional<Prefer> prefer = PreferenceOf(spec);
  if (!prefer.has_value() && IsOnline(spec.algorithm)) {
    return absl::UnimplementedError(
        absl::StrCat("a histogram cannot be packed by ", spec.algorithm,
                     ", which depends on the order of the sequences"));
  }
  const SpentTime spent = StartBudget(spec);
  const absl::StatusOr<std::vector<LengthCount>> counts =
      Collect(histogram, spec);
  if (!counts.ok()) return counts.status();
  const Units units(spec);
  const std::vector<LengthCount> lengths = UnitLengths(*counts, spec);
  HistogramPlan plan;
  if (prefer.has_value()) {
    plan.groups = PackDecreasing(lengths, units, *prefer);
  } else {
    plan.groups = BindLengths(
        PackCounts(spec, CountFootprints(lengths, units), {}, spent, notes),
        lengths, units);
  }
  uint64_t packs = 0;
  for (const HistogramPlan::Group& group : plan.groups) packs += group.count;
  plan.report = ReportOfCounts(*counts, spec, packs);
  return plan;
}

}  // namespace packhouse
