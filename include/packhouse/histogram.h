// Plans for lists that are known only as a histogram of lengths.
//
// Sequences of one length are interchangeable, so equal packs are planned
// together: time and memory depend on the distinct lengths, not on how many
// sequences there are. 16 million sequences take milliseconds.

#ifndef PACKHOUSE_HISTOGRAM_H_
#define PACKHOUSE_HISTOGRAM_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "packhouse/spec.h"

namespace packhouse {

// So many sequences of one length.
struct LengthCount {
  uint32_t length;
  uint64_t count;
};

struct HistogramPlan {
  // Packs that hold the same lengths.
  struct Group {
    std::vector<LengthCount> lengths;  // of one pack: descending, each once
    uint64_t count;                    // of packs
  };
  std::vector<Group> groups;  // in the order in which they were opened

  // A histogram has no order of arrival: max_displacement and
  // pad_to_longest_slots are 0.
  PackReport report;
};

// The packs of spec.algorithm for the whole list at once, the same as those of
// Plan for the expanded histogram with a window that holds all of it;
// spec.window_sequences must be valid and is not looked at otherwise. Lengths
// may come in any order and more than once. INVALID_ARGUMENT as ValidateSpec
// and CheckLengths say (the ordinal is the entry of the histogram), and where
// one sequence a row would take 2^63 slots or more; UNIMPLEMENTED where the
// rule depends on the order of the sequences.
absl::StatusOr<HistogramPlan> PlanHistogram(
    absl::Span<const LengthCount> histogram, const PackSpec& spec,
    PlanNotes* notes = nullptr);

}  // namespace packhouse

#endif  // PACKHOUSE_HISTOGRAM_H_
