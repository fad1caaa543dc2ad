#include "client/cli/advise/advice_words.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/report_text.h"

namespace packhouse {
namespace {

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0
                    : static_cast<double>(part) / static_cast<double>(whole);
}

// What the policy does with the over-long sequences.
std::string WhatBecomes(const CapacityAdvice& capacity, const PackSpec& limits,
                        uint64_t tokens) {
  const IntakeCounts& intake = capacity.intake;
  switch (limits.overlong) {
    case Overlong::kError:
      return "refused";
    case Overlong::kDrop:
      return "dropped";
    case Overlong::kTruncate:
    case Overlong::kTruncateHead:
      return absl::StrCat("truncated, which loses ",
                          PercentText(Share(intake.truncated_tokens, tokens)),
                          " of the tokens");
    case Overlong::kSplit:
      return absl::StrCat(
          "split into ",
          Counted(intake.split_sequences + intake.extra_pieces, "piece"));
  }
  return "";
}

}  // namespace

std::string SpecOptions(const CapacityAdvice& capacity, const AdviceRow& row) {
  const PackSpec& spec = row.spec;
  std::string text = absl::StrCat("--capacity ", spec.capacity_tokens,
                                  " --algorithm ", spec.algorithm);
  if (!row.whole_list) {
    absl::StrAppend(&text, " --window ", spec.window_sequences);
  }
  if (spec.effort != Effort::kBalanced) {
    absl::StrAppend(&text, " --effort ",
                    kEffortNames[static_cast<int>(spec.effort)]);
  }
  if (spec.budget_seconds > 0) {
    absl::StrAppend(&text, " --budget ", spec.budget_seconds);
  }
  if (spec.max_sequences_per_pack > 0) {
    absl::StrAppend(&text, " --max-sequences ", spec.max_sequences_per_pack);
  }
  if (spec.sequence_alignment > 1) {
    absl::StrAppend(&text, " --alignment ", spec.sequence_alignment);
  }
  if (capacity.overlong_sequences > 0) {
    absl::StrAppend(&text, " --overlong ",
                    kOverlongNames[static_cast<int>(spec.overlong)]);
  }
  if (capacity.intake.empty_sequences > 0) {
    absl::StrAppend(&text, " --empty ",
                    kEmptyNames[static_cast<int>(spec.empty)]);
  }
  return text;
}

std::string RowReason(const CapacityAdvice& capacity) {
  const AdviceRow& row = capacity.rows[*capacity.recommended];
  uint64_t fewest = row.figures.packs;
  for (const AdviceRow& other : capacity.rows) {
    if (other.whole_list == row.whole_list) {
      fewest = std::min(fewest, other.figures.packs);
    }
  }
  const std::string packs = Counted(row.figures.packs, "pack");
  const std::string full =
      absl::StrCat(PercentText(*row.figures.efficiency()), " full");
  const std::string which =
      row.whole_list ? "the cheapest rule"
                     : "the smallest window, and at it the cheapest rule,";
  const std::string whose = row.whole_list ? "any rule" : "any online rule";
  if (row.figures.packs == fewest) {
    return absl::StrCat(packs, ", ", full, ": ", which,
                        " with the fewest packs", " of ", whose, " here.");
  }
  return absl::StrCat(packs, ", ", full, ": ", which,
                      " within 0.1 % of the fewest packs of ", whose, " here (",
                      Grouped(fewest), ").");
}

std::string Reason(const Advice& advice) {
  const CapacityAdvice& capacity = advice.recommended_capacity();
  std::string text = RowReason(capacity);
  if (advice.capacities.size() > 1) {
    absl::StrAppend(&text,
                    " It is the smallest capacity here whose share of tokens "
                    "kept, times how full its packs are, is within 0.1 % of "
                    "the best.");
  }
  if (capacity.overlong_sequences > 0) {
    absl::StrAppend(&text, " ", OverlongSentence(advice, capacity));
  }
  return text;
}

std::string LimitSentence(const Advice& advice,
                          const CapacityAdvice& capacity) {
  const int64_t limit = advice.query.limits.max_sequences_per_pack;
  if (limit == 0 || capacity.rows.empty()) return "";
  const std::string bounds =
      absl::StrCat(Counted(capacity.packs_by_count, "pack"), " for ",
                   Grouped(capacity.intake.units), " sequences, ",
                   Grouped(capacity.packs_by_tokens), " for their tokens");
  const std::string head = absl::StrCat(
      "The limit of ", Counted(static_cast<uint64_t>(limit), "sequence"),
      " a pack ");
  if (capacity.limit_binds()) {
    return absl::StrCat(head, "binds: it takes at least ", bounds, ".");
  }
  const bool met = std::any_of(
      capacity.rows.begin(), capacity.rows.end(), [&](const AdviceRow& row) {
        return row.most_sequences == static_cast<uint64_t>(limit);
      });
  return absl::StrCat(head,
                      met ? "does not bind as a whole, but some packs meet it: "
                          : "does not bind and no pack meets it: ",
                      "it takes at least ", bounds, ".");
}

std::string OverlongSentence(const Advice& advice,
                             const CapacityAdvice& capacity) {
  if (capacity.overlong_sequences == 0) return "No sequence is over-long.";
  return absl::StrCat(
      Counted(capacity.overlong_sequences, "sequence"), " (",
      PercentText(Share(capacity.overlong_sequences, advice.sequences)),
      ") with ", PercentText(Share(capacity.overlong_tokens, advice.tokens)),
      " of the tokens ", capacity.overlong_sequences == 1 ? "is" : "are",
      " over-long: ", WhatBecomes(capacity, advice.query.limits, advice.tokens),
      ".");
}

std::string PercentText(double ratio) {
  // What is not all must not look like it.
  const double shown = ratio < 1 ? std::min(100 * ratio, 99.99) : 100 * ratio;
  return absl::StrFormat("%.2f %%", shown);
}

std::string ShortNumber(double number) {
  if (number >= 999.5) {
    return number < 1e18 ? Grouped(static_cast<uint64_t>(std::llround(number)))
                         : absl::StrFormat("%.3g", number);
  }
  return absl::StrFormat("%.*f", number >= 9.995 ? 1 : 2, number);
}

std::string Counted(uint64_t number, const std::string& singular) {
  return absl::StrCat(Grouped(number), " ", singular, number == 1 ? "" : "s");
}

}  // namespace packhouse
