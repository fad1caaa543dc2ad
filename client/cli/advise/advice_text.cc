#include "client/cli/advise/advice_text.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "client/cli/advise/advice_words.h"
#include "client/cli/advise/length_bins.h"
#include "client/cli/error_text.h"
#include "client/cli/report_text.h"

namespace packhouse {
namespace {

constexpr size_t kColumns = 80;

// Lines of the picture of the lengths. More would push the tables off a screen.
constexpr size_t kMaxBins = 16;

constexpr size_t kLengthBarColumns = 40;
constexpr size_t kEfficiencyBarColumns = 11;

// A bar of `columns` for `fraction` 1, drawn to an eighth of a column. What is
// more than nothing can be seen.
std::string Bar(double fraction, size_t columns) {
  static constexpr const char* kEighths[] = {"",  "▏", "▎", "▍",
                                             "▌", "▋", "▊", "▉"};
  const double eighths =
      std::max(0.0, fraction) * 8 * static_cast<double>(columns);
  size_t left = static_cast<size_t>(std::llround(eighths));
  if (fraction > 0) left = std::max<size_t>(left, 1);
  std::string bar;
  for (; left >= 8; left -= 8) bar += "█";
  return bar + kEighths[left];
}

// `text` of one column for each character, filled up to `columns`.
std::string Filled(const std::string& text, size_t columns) {
  size_t used = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++used;
  }
  return text + std::string(columns - std::min(columns, used), ' ');
}

// Lines of words, each indented.
std::string Wrapped(absl::string_view text, size_t indent) {
  std::string lines;
  size_t column = kColumns;
  for (const absl::string_view word : absl::StrSplit(text, ' ')) {
    // A line that has more than its indent is ended before it gets too long.
    if (column + 1 + word.size() > kColumns) {
      if (!lines.empty()) lines += "\n";
      lines += std::string(indent, ' ');
      column = indent;
    } else {
      lines += " ";
      ++column;
    }
    absl::StrAppend(&lines, word);
    column += word.size();
  }
  return lines + "\n";
}

std::string OnePlace(double share) {
  return absl::StrFormat("%.1f %%", 100 * share);
}

std::string Lengths(const Advice& advice, absl::string_view name) {
  const std::vector<LengthCount>& lengths = advice.lengths;
  std::string text = absl::StrFormat(
      "%s: %s, %s\n"
      "lengths %s to %s: mean %s, median %s, 99 %% at most %s\n\n",
      OneLine(name), Counted(advice.sequences, "sequence"),
      Counted(advice.tokens, "token"), Grouped(lengths.front().length),
      Grouped(lengths.back().length),
      ShortNumber(static_cast<double>(advice.tokens) /
                  static_cast<double>(advice.sequences)),
      Grouped(Quantile(lengths, 0.5)), Grouped(Quantile(lengths, 0.99)));
  const std::vector<LengthBin> bins = LengthBins(lengths, kMaxBins);
  uint64_t most = 1;
  for (const LengthBin& bin : bins) most = std::max(most, bin.sequences);
  absl::StrAppendFormat(&text, "  %17s  %s%9s%9s\n", "length",
                        Filled("sequences", kLengthBarColumns), "", "tokens");
  for (const LengthBin& bin : bins) {
    const double sequences = static_cast<double>(bin.sequences);
    absl::StrAppendFormat(
        &text, "  %7s - %7s  %s%9s%9s\n", Grouped(bin.shortest),
        Grouped(bin.longest),
        Filled(Bar(sequences / static_cast<double>(most), kLengthBarColumns),
               kLengthBarColumns),
        OnePlace(sequences / static_cast<double>(advice.sequences)),
        OnePlace(static_cast<double>(bin.tokens) /
                 static_cast<double>(advice.tokens)));
  }
  return text;
}

std::string AttentionRow(const char* name, double cost, double packed) {
  return absl::StrFormat(
      "  %-30s%18s%s\n", name, ShortNumber(cost),
      cost == packed
          ? ""
          : absl::StrFormat("   %s times", ShortNumber(cost / packed)));
}

std::string Attention(const AttentionCost& cost) {
  std::string text = "  attention a token (L^2 inside sequences)\n";
  text += AttentionRow("  packed", cost.packed, cost.packed);
  if (cost.pad_to_longest.has_value()) {
    text += AttentionRow("  padded to the longest of 8", *cost.pad_to_longest,
                         cost.packed);
  }
  text += AttentionRow("  one sequence a row", cost.one_per_row, cost.packed);
  return text;
}

// Where the scale of the bars begins and ends, above them.
std::string Scale(double floor) {
  const std::string from = absl::StrFormat("%.0f %%", 100 * floor);
  return Filled(from, kEfficiencyBarColumns - 5) + "100 %";
}

std::string Table(const Advice& advice, const CapacityAdvice& capacity) {
  const double floor = AxisFloor(capacity);
  std::string text = absl::StrFormat(
      "  %-16s%7s%10s%9s%10s%13s\n"
      "  %-16s%7s%10s%9s%10s%7s%6s  %s\n",
      "", "", "", "", "", "seqs a pack", "rule", "window", "packs", "full",
      "displaced", "mean", "most", Scale(floor));
  for (size_t i = 0; i < capacity.rows.size(); ++i) {
    const AdviceRow& row = capacity.rows[i];
    const double efficiency = *row.figures.efficiency();
    absl::StrAppendFormat(
        &text, "%c %-16s%7s%10s%9s%10s%7s%6s  %s\n",
        capacity.recommended == i ? '>' : ' ', RuleLabel(row.spec),
        row.whole_list ? "all" : absl::StrCat(row.spec.window_sequences),
        Grouped(row.figures.packs), PercentText(efficiency),
        advice.ordered ? Grouped(row.figures.max_displacement) : "-",
        ShortNumber(row.mean_sequences()), Grouped(row.most_sequences),
        Bar((efficiency - floor) / (1 - floor), kEfficiencyBarColumns));
  }
  absl::StrAppendFormat(
      &text, "  %-23s%10s%9s%25s%s\n", "lower bound",
      Grouped(capacity.lower_bound_packs),
      PercentText(capacity.lower_bound_efficiency), "",
      Bar((capacity.lower_bound_efficiency - floor) / (1 - floor),
          kEfficiencyBarColumns));
  return text;
}

std::string OfCapacity(const Advice& advice, const CapacityAdvice& capacity) {
  std::string text = absl::StrCat(
      "\nCapacity ", Grouped(static_cast<uint64_t>(capacity.capacity)), "\n",
      Wrapped(OverlongSentence(advice, capacity), 2));
  if (!capacity.refusal.empty()) return text + Wrapped(capacity.refusal, 2);
  if (capacity.rows.empty()) return text + "  Nothing is packed.\n";
  const std::string limit = LimitSentence(advice, capacity);
  if (!limit.empty()) text += Wrapped(limit, 2);
  absl::StrAppend(&text, Attention(capacity.attention), "\n",
                  Table(advice, capacity));
  return text;
}

std::string LeftOutRules(const CapacityAdvice& capacity) {
  std::string text;
  for (const LeftOut& rule : capacity.left_out) {
    text += Wrapped(
        absl::StrCat("left out: ", rule.rule, ": ", InOptionNames(rule.reason)),
        2);
  }
  return text;
}

}  // namespace

std::string AdviceText(const Advice& advice, absl::string_view name) {
  std::string text = Lengths(advice, name);
  std::string last_left_out;
  for (const CapacityAdvice& capacity : advice.capacities) {
    text += OfCapacity(advice, capacity);
    const std::string left_out = LeftOutRules(capacity);
    if (left_out != last_left_out) text += left_out;
    last_left_out = left_out;
  }
  absl::StrAppend(&text, "\nRecommended, as options of plan",
                  advice.ordered ? ", stream and verify" : "", ":\n\n",
                  Wrapped(SpecOptions(advice.recommended_capacity(),
                                      advice.recommended_row()),
                          4),
                  "\n", Wrapped(Reason(advice), 2),
                  absl::StrFormat("\nadvised in %.2f s\n", advice.seconds));
  return text;
}

}  // namespace packhouse
