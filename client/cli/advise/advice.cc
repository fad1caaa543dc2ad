#include "client/cli/advise/advice.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <variant>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/report_text.h"
#include "client/cli/stopwatch.h"
#include "packhouse/histogram.h"
#include "packhouse/plan.h"

namespace packhouse {
namespace {

constexpr int64_t kWindows[] = {64, 256, 1024, 4096};

double Ratio(double part, uint64_t whole) {
  return whole == 0 ? 0 : part / static_cast<double>(whole);
}

double Squared(double length) { return length * length; }

uint64_t DividedUp(uint64_t number, int64_t by) {
  const uint64_t divisor = static_cast<uint64_t>(by);
  return number / divisor + (number % divisor == 0 ? 0 : 1);
}

// True where `number` exceeds `least` by no more than what does not matter.
bool IsEnough(uint64_t number, uint64_t least) {
  return static_cast<double>(number) * 1000 <=
         static_cast<double>(least) * (1000 + kEnoughPerMille);
}

// Ascending by length, each once.
std::vector<LengthCount> CountLengths(const LengthInput& input) {
  std::map<uint32_t, uint64_t> counts;
  if (const auto* histogram = std::get_if<LengthHistogram>(&input)) {
    for (const LengthCount& c : *histogram) counts[c.length] += c.count;
  } else {
    LengthList sorted = std::get<LengthList>(input);
    std::sort(sorted.begin(), sorted.end());
    for (const uint32_t length : sorted) {
      ++counts.emplace_hint(counts.end(), length, 0)->second;
    }
  }
  std::vector<LengthCount> lengths;
  lengths.reserve(counts.size());
  for (const auto& [length, count] : counts) lengths.push_back({length, count});
  return lengths;
}

// OK if all sums of the histogram stay below 2^63.
absl::Status CheckSums(const LengthHistogram& histogram) {
  uint64_t left = uint64_t{1} << 63;
  for (const LengthCount& c : histogram) {
    const uint64_t each = std::max(c.length, 1u);
    if (c.count >= left / each) {
      return absl::InvalidArgumentError(
          absl::StrCat("the counts add up to 2^63 tokens or more at length ",
                       c.length, ", count ", c.count));
    }
    left -= c.count * each;
  }
  return absl::OkStatus();
}

// As CheckLengths says of the list, or of each length of the histogram.
absl::Status Refusal(const PackSpec& spec, const LengthInput& input) {
  if (const auto* list = std::get_if<LengthList>(&input)) {
    return CheckLengths(spec, *list, 0);
  }
  for (const LengthCount& c : std::get<LengthHistogram>(input)) {
    if (CheckLengths(spec, {c.length}, 0).ok()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "length ", c.length, ", count ", c.count,
        ", cannot be packed: it must be from ",
        spec.empty == Empty::kError ? 1 : 0, " to ", LongestAccepted(spec),
        " at capacity ", spec.capacity_tokens));
  }
  return absl::OkStatus();
}

// Calls `visit` with the tokens of each unit of a sequence.
template <typename Visit>
void VisitUnits(const PackSpec& spec, uint32_t length, Visit visit) {
  const uint32_t units = UnitCount(spec, length);
  for (uint32_t i = 0; i < units; ++i) {
    visit(UnitTokens(spec, length, UnitOffset(spec, length, i)));
  }
}

double PackedAttention(const PackSpec& spec,
                       absl::Span<const LengthCount> lengths) {
  double cost = 0;
  for (const LengthCount& c : lengths) {
    VisitUnits(spec, c.length, [&](uint32_t tokens) {
      cost += Squared(tokens) * static_cast<double>(c.count);
    });
  }
  return cost;
}

double PaddedAttention(const PackSpec& spec, const LengthList& list) {
  double cost = 0;
  uint32_t longest = 0;
  uint32_t units = 0;
  const auto close = [&] {
    cost += units * Squared(longest);
    longest = 0;
    units = 0;
  };
  for (const uint32_t length : list) {
    VisitUnits(spec, length, [&](uint32_t tokens) {
      longest = std::max(longest, tokens);
      if (++units == kPaddedBatchUnits) close();
    });
  }
  close();
  return cost;
}

bool IsForAudit(const std::string& rule) {
  return rule == "nnlshp" || absl::EndsWith(rule, "_reference");
}

// A rule of some effort, as spec for all windows.
struct Candidate {
  PackSpec spec;
  std::string left_out;  // why; empty where it is to pack
};

std::vector<Effort> Efforts(const std::string& rule, bool all) {
  if (rule != "sliding") return {Effort::kBalanced};
  if (all) return {Effort::kFast, Effort::kBalanced, Effort::kThorough};
  return {Effort::kFast, Effort::kBalanced};
}

// The rules to look at under these limits, cheap ones first.
std::vector<Candidate> Candidates(const AdviceQuery& query, int64_t capacity) {
  std::vector<Candidate> candidates;
  for (const std::string& rule : AlgorithmNames()) {
    if (IsForAudit(rule) && !query.all) continue;
    for (const Effort effort : Efforts(rule, query.all)) {
      Candidate candidate = {query.limits, ""};
      candidate.spec.capacity_tokens = capacity;
      candidate.spec.algorithm = rule;
      candidate.spec.effort = effort;
      if (rule == "best") candidate.spec.budget_seconds = kAdviceBudgetSeconds;
      if (rule == "depth_aware" && query.limits.max_sequences_per_pack == 0) {
        candidate.left_out =
            "it is lpfhp where the sequences of a pack are not limited";
      }
      candidates.push_back(std::move(candidate));
    }
  }
  return candidates;
}

uint64_t MostSequences(const Packs& packs) {
  uint64_t most = 0;
  for (size_t i = 0; i < packs.size(); ++i) {
    most = std::max<uint64_t>(most, packs[i].size());
  }
  return most;
}

uint64_t MostSequences(const HistogramPlan& plan) {
  uint64_t most = 0;
  for (const HistogramPlan::Group& group : plan.groups) {
    uint64_t sequences = 0;
    for (const LengthCount& c : group.lengths) sequences += c.count;
    most = std::max(most, sequences);
  }
  return most;
}

absl::StatusOr<AdviceRow> PackList(const LengthList& list,
                                   const PackSpec& spec) {
  AdviceRow row;
  row.spec = spec;
  row.whole_list = !IsOnline(spec.algorithm);
  const Stopwatch watch;
  const absl::StatusOr<Packs> packs = Plan(list, spec);
  if (!packs.ok()) return packs.status();
  row.seconds = watch.seconds();
  absl::StatusOr<PackReport> figures = Summarize(list, spec, *packs);
  if (!figures.ok()) return figures.status();
  row.figures = *figures;
  row.most_sequences = MostSequences(*packs);
  return row;
}

absl::StatusOr<AdviceRow> PackHistogram(const LengthHistogram& histogram,
                                        const PackSpec& spec) {
  AdviceRow row;
  row.spec = spec;
  row.whole_list = true;
  const Stopwatch watch;
  const absl::StatusOr<HistogramPlan> plan = PlanHistogram(histogram, spec);
  if (!plan.ok()) return plan.status();
  row.seconds = watch.seconds();
  row.figures = plan->report;
  row.most_sequences = MostSequences(*plan);
  return row;
}

// The specs with which a rule packs a list.
std::vector<PackSpec> SpecsOf(const PackSpec& rule,
                              absl::Span<const int64_t> windows) {
  if (!IsOnline(rule.algorithm)) return {rule};
  std::vector<PackSpec> specs;
  for (const int64_t window : windows) {
    specs.push_back(rule);
    specs.back().window_sequences = window;
  }
  return specs;
}

// Appends the rows of a rule, or why it has none.
void TryRule(const LengthInput& input, const AdviceQuery& query,
             const Candidate& candidate, CapacityAdvice* advice) {
  const std::string label = RuleLabel(candidate.spec);
  if (!candidate.left_out.empty()) {
    advice->left_out.push_back({label, candidate.left_out});
    return;
  }
  const auto* list = std::get_if<LengthList>(&input);
  const std::vector<PackSpec> specs =
      list == nullptr ? std::vector<PackSpec>{candidate.spec}
                      : SpecsOf(candidate.spec, query.windows);
  for (const PackSpec& spec : specs) {
    absl::StatusOr<AdviceRow> row =
        list == nullptr ? PackHistogram(std::get<LengthHistogram>(input), spec)
                        : PackList(*list, spec);
    if (!row.ok()) {
      advice->left_out.push_back({label, std::string(row.status().message())});
      return;
    }
    advice->rows.push_back(*std::move(row));
  }
}

void SetOverlong(absl::Span<const LengthCount> lengths, const PackSpec& spec,
                 CapacityAdvice* advice) {
  for (const LengthCount& c : lengths) {
    if (c.length <= LongestPiece(spec)) continue;
    advice->overlong_sequences += c.count;
    advice->overlong_tokens += c.count * c.length;
  }
}

// What all rows have in common.
void SetBounds(const Advice& advice, const LengthInput& input,
               const PackSpec& spec, CapacityAdvice* capacity) {
  const PackReport& figures = capacity->rows.front().figures;
  capacity->intake = figures.intake;
  capacity->lower_bound_packs = figures.lower_bound_packs;
  capacity->lower_bound_efficiency =
      Ratio(static_cast<double>(figures.intake.packed_tokens),
            figures.lower_bound_packs * figures.capacity_tokens);
  // What remains of the capacity behind the longest piece is never used.
  capacity->packs_by_tokens =
      DividedUp(figures.intake.footprint_tokens, LongestPiece(spec));
  if (spec.max_sequences_per_pack > 0) {
    capacity->packs_by_count =
        DividedUp(figures.intake.units, spec.max_sequences_per_pack);
  }
  const uint64_t tokens = figures.intake.packed_tokens;
  AttentionCost& attention = capacity->attention;
  attention.packed = Ratio(PackedAttention(spec, advice.lengths), tokens);
  attention.one_per_row =
      Ratio(Squared(static_cast<double>(spec.capacity_tokens)) *
                static_cast<double>(figures.intake.units),
            tokens);
  if (const auto* list = std::get_if<LengthList>(&input)) {
    attention.pad_to_longest = Ratio(PaddedAttention(spec, *list), tokens);
  }
}

CapacityAdvice AdviseCapacity(const Advice& advice, const LengthInput& input,
                              int64_t capacity) {
  PackSpec spec = advice.query.limits;
  spec.capacity_tokens = capacity;
  CapacityAdvice result;
  result.capacity = capacity;
  SetOverlong(advice.lengths, spec, &result);
  if (absl::Status status = Refusal(spec, input); !status.ok()) {
    result.refusal = std::string(status.message());
    return result;
  }
  const bool any_packed = std::any_of(
      advice.lengths.begin(), advice.lengths.end(),
      [&](const LengthCount& c) { return UnitCount(spec, c.length) > 0; });
  if (!any_packed) return result;
  for (const Candidate& candidate : Candidates(advice.query, capacity)) {
    TryRule(input, advice.query, candidate, &result);
  }
  if (result.rows.empty()) return result;
  SetBounds(advice, input, spec, &result);
  result.recommended = RecommendedRow(result.rows);
  return result;
}

// Fails for the first combination of capacity and window that no rule takes.
absl::Status CheckQuery(const AdviceQuery& query) {
  for (const int64_t capacity : query.capacities) {
    PackSpec spec = query.limits;
    spec.capacity_tokens = capacity;
    absl::Status status = ValidateSpec(spec);
    for (size_t i = 0; status.ok() && i < query.windows.size(); ++i) {
      spec.window_sequences = query.windows[i];
      status = ValidateSpec(spec);
    }
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::vector<int64_t> SortedOnce(std::vector<int64_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

// The query with every capacity and window it asks for, ascending.
AdviceQuery Completed(const AdviceQuery& query, const Advice& advice) {
  AdviceQuery completed = query;
  if (completed.capacities.empty()) {
    completed.capacities =
        SuggestedCapacities(advice.lengths, query.limits.sequence_alignment);
  }
  if (completed.windows.empty() && advice.ordered) {
    completed.windows = SuggestedWindows(advice.sequences);
  }
  completed.capacities = SortedOnce(std::move(completed.capacities));
  completed.windows = SortedOnce(std::move(completed.windows));
  return completed;
}

absl::Status NothingPacked(const Advice& advice) {
  const CapacityAdvice& last = advice.capacities.back();
  if (!last.refusal.empty()) return absl::InvalidArgumentError(last.refusal);
  return absl::InvalidArgumentError(absl::StrCat(
      "no sequence can be packed: ", last.overlong_sequences, " of ",
      advice.sequences, " are over-long at capacity ", last.capacity, ", ",
      advice.sequences - last.overlong_sequences, " are empty"));
}

}  // namespace

double CapacityAdvice::worth() const {
  const double kept =
      Ratio(static_cast<double>(intake.packed_tokens), intake.tokens);
  return kept * *rows[*recommended].figures.efficiency();
}

absl::StatusOr<Advice> Advise(const LengthInput& input,
                              const AdviceQuery& query) {
  const Stopwatch watch;
  Advice advice;
  if (const auto* histogram = std::get_if<LengthHistogram>(&input)) {
    if (!query.windows.empty()) {
      return absl::InvalidArgumentError(
          "a histogram has no order of arrival, so it is packed whole: "
          "--window is of no use");
    }
    absl::Status status = CheckSums(*histogram);
    if (!status.ok()) return status;
    advice.ordered = false;
  }
  advice.lengths = CountLengths(input);
  for (const LengthCount& c : advice.lengths) {
    advice.sequences += c.count;
    advice.tokens += c.count * c.length;
  }
  advice.query = Completed(query, advice);
  if (absl::Status status = CheckQuery(advice.query); !status.ok()) {
    return status;
  }
  for (const int64_t capacity : advice.query.capacities) {
    advice.capacities.push_back(AdviseCapacity(advice, input, capacity));
  }
  const absl::optional<size_t> recommended =
      RecommendedCapacity(advice.capacities);
  if (!recommended.has_value()) return NothingPacked(advice);
  advice.recommended = *recommended;
  advice.seconds = watch.seconds();
  return advice;
}

std::vector<int64_t> SuggestedCapacities(absl::Span<const LengthCount> lengths,
                                         int64_t alignment) {
  constexpr int64_t kLargest = int64_t{1} << 30;
  uint64_t tokens = 0;
  for (const LengthCount& c : lengths) tokens += c.count * c.length;
  // The smallest at which this many tokens at most are of over-long sequences.
  const auto smallest = [&](uint64_t overlong_tokens) {
    int64_t capacity = 1;
    while (capacity < alignment) capacity *= 2;
    for (; capacity < kLargest; capacity *= 2) {
      const int64_t longest_piece = capacity - capacity % alignment;
      uint64_t over = 0;
      for (const LengthCount& c : lengths) {
        if (c.length > longest_piece) over += c.count * c.length;
      }
      if (over <= overlong_tokens) break;
    }
    return capacity;
  };
  const int64_t all = smallest(0);
  return SortedOnce({smallest(tokens / 10),
                     smallest(tokens / 1000 * kEnoughPerMille), all,
                     std::min(2 * all, kLargest)});
}

std::vector<int64_t> SuggestedWindows(uint64_t sequences) {
  std::vector<int64_t> windows = {kWindows[0]};
  for (const int64_t window : kWindows) {
    if (static_cast<uint64_t>(window) < sequences) windows.push_back(window);
  }
  return SortedOnce(std::move(windows));
}

absl::optional<size_t> RecommendedRow(absl::Span<const AdviceRow> rows) {
  const bool any_windows =
      std::any_of(rows.begin(), rows.end(),
                  [](const AdviceRow& row) { return !row.whole_list; });
  const auto eligible = [&](const AdviceRow& row) {
    return !any_windows || !row.whole_list;
  };
  uint64_t fewest = std::numeric_limits<uint64_t>::max();
  for (const AdviceRow& row : rows) {
    if (eligible(row)) fewest = std::min(fewest, row.figures.packs);
  }
  absl::optional<size_t> choice;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (!eligible(rows[i]) || !IsEnough(rows[i].figures.packs, fewest))
      continue;
    const bool smaller_window =
        any_windows && choice.has_value() &&
        rows[i].spec.window_sequences < rows[*choice].spec.window_sequences;
    if (!choice.has_value() || smaller_window) {
      choice = i;
    }
  }
  return choice;
}

absl::optional<size_t> RecommendedCapacity(
    absl::Span<const CapacityAdvice> capacities) {
  double best = 0;
  for (const CapacityAdvice& c : capacities) {
    if (c.recommended.has_value()) best = std::max(best, c.worth());
  }
  const double enough = best * (1 - kEnoughPerMille / 1000.0);
  absl::optional<size_t> choice;
  for (size_t i = 0; i < capacities.size(); ++i) {
    const CapacityAdvice& c = capacities[i];
    if (!c.recommended.has_value() || c.worth() < enough) continue;
    if (!choice.has_value() || c.capacity < capacities[*choice].capacity) {
      choice = i;
    }
  }
  return choice;
}

double AxisFloor(const CapacityAdvice& capacity) {
  double lowest = capacity.lower_bound_efficiency;
  for (const AdviceRow& row : capacity.rows) {
    lowest = std::min(lowest, *row.figures.efficiency());
  }
  for (const double floor : {0.99, 0.98, 0.95, 0.9, 0.8, 0.5}) {
    if (floor < lowest) return floor;
  }
  return 0;
}

}  // namespace packhouse
