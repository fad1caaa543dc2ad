// What each rule, window and capacity would give for a list of lengths, and
// which of them to take.
//
// Every rule that this build knows packs the list, or the histogram, for real:
// an online rule at each window, any other on the whole list. A histogram has
// no order of arrival, so only rules that take one pack it, and there are no
// windows.
//
// Three definitions make a recommendation:
//
//  - *Enough.* A tenth of a percent is the measure of what does not matter
//    (kEnoughPerMille): less than what the last, partly filled packs of an
//    epoch cost.
//  - *The row of a capacity.* Of the online rules at all windows, those whose
//    packs are at most a tenth of a percent more than the fewest; of these the
//    smallest window, and at it the first rule in the order of the rows, which
//    is that of AlgorithmNames(): the cheapest first. For a histogram, all of
//    its rules are looked at.
//  - *The capacity.* Its worth is the share of the tokens that the over-long
//    policy does not lose, times the efficiency of its row. The smallest
//    capacity whose worth is at most a tenth of a percent below the best.

#ifndef PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_H_
#define PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "client/cli/length_file.h"
#include "packhouse/plan_check.h"
#include "packhouse/policy.h"
#include "packhouse/spec.h"

namespace packhouse {

inline constexpr uint64_t kEnoughPerMille = 1;

// How long `best` may search at each capacity: enough to show what there is to
// win, and a few capacities still take seconds.
inline constexpr double kAdviceBudgetSeconds = 0.5;

struct AdviceQuery {
  AdviceQuery() { limits.overlong = Overlong::kDrop; }

  // The limits and policies of every row. Its capacity, rule and window are not
  // read.
  PackSpec limits;

  std::vector<int64_t> capacities;  // none: SuggestedCapacities
  std::vector<int64_t> windows;     // none: SuggestedWindows

  // Rules and efforts that are there for audit too: nnlshp, the published batch
  // forms and the effort `thorough`.
  bool all = false;
};

// One way to pack, and what it gives.
struct AdviceRow {
  PackSpec spec;
  bool whole_list = false;  // no windows: an offline rule, or a histogram
  PackReport figures;
  uint64_t most_sequences = 0;  // units in a pack, at most
  double seconds = 0;           // of packing alone

  double mean_sequences() const {
    return static_cast<double>(figures.intake.units) /
           static_cast<double>(figures.packs);
  }
};

// A rule that did not pack, and why.
struct LeftOut {
  std::string rule;
  std::string reason;
};

// Attention inside sequences: the sum of L^2 over packed tokens.
struct AttentionCost {
  double packed = 0;
  double one_per_row = 0;  // as if each unit were `capacity` tokens
  // As if 8 consecutive units were as long as their longest. Absent for a
  // histogram.
  absl::optional<double> pad_to_longest;
};

struct CapacityAdvice {
  int64_t capacity = 0;

  // Sequences longer than a pack, and the tokens that they have.
  uint64_t overlong_sequences = 0;
  uint64_t overlong_tokens = 0;

  // Why the policies refuse the list at this capacity. Then, and where none of
  // the sequences is packed, there are no rows and nothing below is set.
  std::string refusal;

  IntakeCounts intake;
  uint64_t lower_bound_packs = 0;
  double lower_bound_efficiency = 0;  // of so few packs

  // What the lower bound is by one resource alone: footprints / capacity, and
  // units / max_sequences_per_pack (0 without that limit), rounded up.
  uint64_t packs_by_tokens = 0;
  uint64_t packs_by_count = 0;

  AttentionCost attention;
  std::vector<AdviceRow> rows;    // by rule, then window
  std::vector<LeftOut> left_out;  // in the order of the rules
  absl::optional<size_t> recommended;

  bool limit_binds() const { return packs_by_count > packs_by_tokens; }
  // As defined above; requires a recommended row.
  double worth() const;
};

struct Advice {
  std::vector<LengthCount> lengths;  // ascending, each once
  uint64_t sequences = 0;
  uint64_t tokens = 0;
  bool ordered = true;  // false for a histogram

  AdviceQuery query;  // with the capacities and windows that were looked at
  std::vector<CapacityAdvice> capacities;
  size_t recommended = 0;  // index of a capacity that has a recommended row
  double seconds = 0;      // of all

  const CapacityAdvice& recommended_capacity() const {
    return capacities[recommended];
  }
  const AdviceRow& recommended_row() const {
    return recommended_capacity().rows[*recommended_capacity().recommended];
  }
};

// INVALID_ARGUMENT where a capacity, window or limit is out of range (all of
// the first wrong combination are named), where the policy refuses an empty
// sequence, where no sequence can be packed at any capacity, and for a
// histogram with windows or of 2^63 tokens or more.
absl::StatusOr<Advice> Advise(const LengthInput& input,
                              const AdviceQuery& query);

// The powers of two to look at, ascending: the smallest that no sequence is
// over-long at, and its double, where more sequences share a pack. Where a few
// long sequences make those large, also the smallest at which over-long ones
// hold at most a tenth of a percent of the tokens, and a tenth of them.
std::vector<int64_t> SuggestedCapacities(absl::Span<const LengthCount> lengths,
                                         int64_t alignment);

// 64, 256, 1024 and 4096, as far as the list is longer; 64 at least.
std::vector<int64_t> SuggestedWindows(uint64_t sequences);

// The index of the row to take, as defined above; absent where there is none.
absl::optional<size_t> RecommendedRow(absl::Span<const AdviceRow> rows);

// The index of the capacity to take, as defined above; absent where no capacity
// has a recommended row. The capacities may come in any order.
absl::optional<size_t> RecommendedCapacity(
    absl::Span<const CapacityAdvice> capacities);

// Where an axis of efficiencies begins that shows every row of a capacity and
// its lower bound: the largest of a few round shares below all of them.
double AxisFloor(const CapacityAdvice& capacity);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_ADVISE_ADVICE_H_
