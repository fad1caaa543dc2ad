#include "client/cli/advise/advice_html.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/cli/advise/advice_words.h"
#include "client/cli/advise/length_bins.h"
#include "client/cli/error_text.h"
#include "client/cli/report_text.h"
#include "nlohmann/json.hpp"

namespace packhouse {
namespace {

// Bars narrower than a 64th of the plot are hard to point at.
constexpr size_t kMaxBins = 64;

// Colours that keep 4.5 : 1 of contrast on their background, and differ for the
// usual kinds of colour blindness with the shapes of the marks.
constexpr size_t kSeriesStyles = 8;

constexpr char kStyle[] = R"css(
:root {
  color-scheme: light dark;
  --page: #f7f7f5; --panel: #ffffff; --ink: #1b1d21; --soft: #5b626c;
  --line: #dfe1e5; --bar: #9db8dd; --mark: #fff3c9;
  --s0: #1f63b8; --s1: #b4500b; --s2: #1a7a49; --s3: #a12c78;
  --s4: #6546bd; --s5: #0c7481; --s6: #80531b; --s7: #b0241d;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #16181b; --panel: #1e2125; --ink: #e8eaed; --soft: #a4abb5;
    --line: #363a40; --bar: #44618a; --mark: #4a4019;
    --s0: #72aefc; --s1: #ff9f5c; --s2: #62d193; --s3: #f58ecb;
    --s4: #b9a5ff; --s5: #54d1de; --s6: #dcae68; --s7: #ff8d84;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 24px 16px 64px; max-width: 960px;
  background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
}
h1 { font-size: 24px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 40px 0 8px; }
p { margin: 8px 0; }
.soft { color: var(--soft); }
.panel {
  background: var(--panel); border: 1px solid var(--line); border-radius: 8px;
  padding: 16px; margin: 16px 0; overflow-x: auto;
}
.panel h2 { margin-top: 0; }
code {
  display: block; padding: 12px; border-radius: 6px; background: var(--page);
  font: 15px/1.5 ui-monospace, Menlo, Consolas, monospace;
  overflow-wrap: anywhere;
}
table { border-collapse: collapse; width: 100%; font-size: 14px;
        font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: 4px; }
th, td { padding: 4px 8px; text-align: right; white-space: nowrap;
         border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
th:first-child, td:first-child { text-align: left; }
tr.chosen td { background: var(--mark); font-weight: 600; }
svg { display: block; width: 100%; min-width: 600px; height: auto; }
svg text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif;
           fill: var(--soft); font-variant-numeric: tabular-nums; }
.grid { stroke: var(--line); stroke-width: 1; }
.bar { fill: var(--bar); }
.bound { stroke: var(--ink); stroke-width: 1.5; stroke-dasharray: 6 4; fill: none; }
svg text.ink { fill: var(--ink); }
.curve { fill: none; stroke-width: 2; stroke-linejoin: round; }
.whole { stroke-dasharray: 2 3; }
)css";

// `text` as valid UTF-8 that XML allows, with its own meaning of no character.
std::string Escaped(absl::string_view text) {
  using nlohmann::json;
  std::string valid =
      json::parse(json(std::string(text))
                      .dump(-1, ' ', false, json::error_handler_t::replace));
  for (char& c : valid) {
    if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) c = ' ';
  }
  return absl::StrReplaceAll(valid, {{"&", "&amp;"},
                                     {"<", "&lt;"},
                                     {">", "&gt;"},
                                     {"\"", "&quot;"},
                                     {"'", "&#39;"},
                                     // Not characters in XML.
                                     {"\xEF\xBF\xBE", "?"},
                                     {"\xEF\xBF\xBF", "?"}});
}

std::string Paragraph(absl::string_view text, const char* style = "") {
  if (text.empty()) return "";
  return absl::StrCat("<p", *style ? " class=\"" : "", style,
                      *style ? "\"" : "", ">", Escaped(text), "</p>\n");
}

// The area of a chart that data is drawn in, in the units of its viewBox.
struct Plot {
  double width;
  double height;
  double left, right, top, bottom;  // edges of the area

  // The place of a share of the area's width, or of its height from below.
  double X(double share) const { return left + share * (right - left); }
  double Y(double share) const { return bottom - share * (bottom - top); }

  std::string Open(absl::string_view label) const {
    return absl::StrFormat(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" "
        "role=\"img\" aria-label=\"%s\">\n",
        width, height, Escaped(label));
  }
};

std::string Line(double x1, double y1, double x2, double y2,
                 absl::string_view style) {
  return absl::StrFormat(
      "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n",
      x1, y1, x2, y2, style);
}

std::string Text(double x, double y, const char* anchor, absl::string_view text,
                 absl::string_view attributes = "") {
  return absl::StrFormat(
      "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s%s>%s</text>\n", x, y,
      anchor, attributes.empty() ? "" : " ", attributes, Escaped(text));
}

// Horizontal lines with a percentage each: `steps` + 1 of them.
std::string Grid(const Plot& plot, double from, double to, int steps) {
  std::string svg;
  const double step = (to - from) / steps;
  const bool whole = std::fabs(100 * step - std::round(100 * step)) < 1e-9;
  for (int i = 0; i <= steps; ++i) {
    const double y = plot.Y(static_cast<double>(i) / steps);
    svg += Line(plot.left, y, plot.right, y, "grid");
    svg += Text(
        plot.left - 8, y + 4, "end",
        absl::StrFormat("%.*f %%", whole ? 0 : 1, 100 * (from + i * step)));
  }
  return svg;
}

// Five steps of a round size that reach at least `share`.
double AxisTop(double share) {
  for (const double top : {0.05, 0.1, 0.15, 0.2, 0.25, 0.5}) {
    if (share <= top) return top;
  }
  return 1;
}

// The lengths as bars, the tokens that they hold as a line.
class LengthChart {
 public:
  explicit LengthChart(const Advice& advice)
      : advice_(advice), bins_(LengthBins(advice.lengths, kMaxBins)) {
    double largest = 0;
    for (const LengthBin& bin : bins_) {
      largest = std::max({largest, SequenceShare(bin), TokenShare(bin)});
    }
    top_ = AxisTop(largest);
  }

  std::string Svg() const {
    return absl::StrCat(
        kPlot.Open("Histogram of the lengths: the share of the sequences in "
                   "each range of lengths, and of the tokens that they hold"),
        Grid(kPlot, 0, top_, 5), Bars(), Tokens(), Axis(), Capacities(),
        "</svg>\n");
  }

 private:
  static constexpr Plot kPlot = {860, 300, 56, 846, 28, 250};

  double SequenceShare(const LengthBin& bin) const {
    return static_cast<double>(bin.sequences) /
           static_cast<double>(advice_.sequences);
  }
  double TokenShare(const LengthBin& bin) const {
    return static_cast<double>(bin.tokens) /
           static_cast<double>(advice_.tokens);
  }
  // Of the left edge of a bin, or of any place between bins.
  double X(double bin) const {
    return kPlot.X(bin / static_cast<double>(bins_.size()));
  }

  std::string Bars() const {
    std::string svg;
    const double width = X(1) - X(0);
    const double gap = std::min(2.0, width / 5);
    for (size_t i = 0; i < bins_.size(); ++i) {
      const LengthBin& bin = bins_[i];
      const double y = kPlot.Y(SequenceShare(bin) / top_);
      absl::StrAppendFormat(
          &svg,
          "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
          "class=\"bar\"><title>%s to %s tokens: %s (%s), %s of the tokens"
          "</title></rect>\n",
          X(static_cast<double>(i)) + gap / 2, y, width - gap, kPlot.bottom - y,
          Grouped(bin.shortest), Grouped(bin.longest),
          Counted(bin.sequences, "sequence"), PercentText(SequenceShare(bin)),
          PercentText(TokenShare(bin)));
    }
    return svg;
  }

  std::string Tokens() const {
    std::vector<std::string> points;
    for (size_t i = 0; i < bins_.size(); ++i) {
      points.push_back(absl::StrFormat("%.1f,%.1f",
                                       X(static_cast<double>(i) + 0.5),
                                       kPlot.Y(TokenShare(bins_[i]) / top_)));
    }
    return absl::StrCat(
        "<polyline class=\"curve\" stroke=\"var(--s1)\" "
        "points=\"",
        absl::StrJoin(points, " "), "\"/>\n");
  }

  // Each label where there is room for it behind the last.
  std::string Axis() const {
    std::string svg;
    double free_from = 0;
    for (size_t i = 0; i < bins_.size(); ++i) {
      const std::string label = Grouped(bins_[i].shortest);
      const double x = X(static_cast<double>(i));
      const double half = 4 * static_cast<double>(label.size());
      const bool is_power = (bins_[i].shortest & (bins_[i].shortest - 1)) == 0;
      if ((bins_.size() > 16 && !is_power) || x - half < free_from) continue;
      svg += Line(x, kPlot.bottom, x, kPlot.bottom + 5, "grid");
      svg += Text(x, kPlot.bottom + 20, "middle", label);
      free_from = x + half + 8;
    }
    svg += Text((kPlot.left + kPlot.right) / 2, kPlot.bottom + 42, "middle",
                "length in tokens, logarithmic");
    return svg;
  }

  std::string Capacities() const {
    std::string svg;
    double free_from = 0;
    for (const CapacityAdvice& capacity : advice_.capacities) {
      const double length = static_cast<double>(capacity.capacity);
      const auto bin =
          std::find_if(bins_.begin(), bins_.end(), [&](const LengthBin& b) {
            return b.shortest <= capacity.capacity &&
                   capacity.capacity <= b.longest;
          });
      if (bin == bins_.end()) continue;
      const double inside = std::log((length + 1) / bin->shortest) /
                            std::log((bin->longest + 1.0) / bin->shortest);
      const double x = X(static_cast<double>(bin - bins_.begin()) + inside);
      svg += Line(x, kPlot.top, x, kPlot.bottom, "bound");
      const std::string label =
          Grouped(static_cast<uint64_t>(capacity.capacity));
      const double half = 4 * static_cast<double>(label.size());
      if (x - half < free_from) continue;
      svg += Text(std::min(x, kPlot.width - half), kPlot.top - 8, "middle",
                  label, "class=\"ink\"");
      free_from = x + half;
    }
    return svg;
  }

  const Advice& advice_;
  const std::vector<LengthBin> bins_;
  double top_;
};

// A line of an efficiency chart: a rule at the windows it packed with.
struct Curve {
  std::string label;
  size_t style;  // of its colour and marks
  bool whole_list;
  std::vector<const AdviceRow*> rows;
};

// Where a label would like to be, and where there is room for it.
struct EndLabel {
  double y;
  std::string text;
  std::string attributes;
};

// Moves labels apart that would overlap, no more than that takes.
void Spread(const Plot& plot, std::vector<EndLabel>* labels) {
  constexpr double kGap = 17;
  std::stable_sort(
      labels->begin(), labels->end(),
      [](const EndLabel& a, const EndLabel& b) { return a.y < b.y; });
  double free_from = 0;
  for (EndLabel& label : *labels) {
    label.y = std::max(label.y, free_from);
    free_from = label.y + kGap;
  }
  double free_to = plot.height - 4;
  for (auto it = labels->rbegin(); it != labels->rend(); ++it) {
    it->y = std::min(it->y, free_to);
    free_to = it->y - kGap;
  }
}

// Efficiency by window, a line for each rule and one for the lower bound.
class EfficiencyChart {
 public:
  EfficiencyChart(const Advice& advice, const CapacityAdvice& capacity)
      : windows_(advice.query.windows),
        capacity_(capacity),
        floor_(AxisFloor(capacity)) {
    for (const AdviceRow& row : capacity.rows) {
      const std::string label = RuleLabel(row.spec);
      if (curves_.empty() || curves_.back().label != label) {
        curves_.push_back(
            {label, curves_.size() % kSeriesStyles, row.whole_list, {}});
      }
      curves_.back().rows.push_back(&row);
    }
  }

  std::string Svg() const {
    std::string svg = kPlot.Open(
        absl::StrCat("Efficiency of each rule at capacity ",
                     Grouped(static_cast<uint64_t>(capacity_.capacity)),
                     windows_.empty() ? "" : " by window",
                     "; the table below has the same figures"));
    svg += Grid(kPlot, floor_, 1, 5);
    svg += Axis();
    std::vector<EndLabel> labels;
    const double bound = Y(capacity_.lower_bound_efficiency);
    svg += Line(kPlot.left, bound, kPlot.right, bound, "bound");
    labels.push_back(
        {bound,
         absl::StrCat("lower bound ",
                      PercentText(capacity_.lower_bound_efficiency)),
         "class=\"ink\""});
    for (const Curve& curve : curves_) {
      svg += curve.whole_list ? WholeList(curve) : Windows(curve);
      const double last = *curve.rows.back()->figures.efficiency();
      labels.push_back(
          {Y(last), absl::StrCat(curve.label, " ", PercentText(last)),
           absl::StrFormat("style=\"fill: var(--s%d)\"", curve.style)});
    }
    Spread(kPlot, &labels);
    for (const EndLabel& label : labels) {
      svg += Text(kPlot.right + 14, label.y + 4, "start", label.text,
                  label.attributes);
    }
    return svg + "</svg>\n";
  }

 private:
  static constexpr Plot kPlot = {860, 330, 64, 660, 20, 276};

  double Y(double efficiency) const {
    return kPlot.Y((efficiency - floor_) / (1 - floor_));
  }

  // On a logarithmic axis, with a little room at both ends.
  double X(int64_t window) const {
    const double first = std::log(static_cast<double>(windows_.front()));
    const double last = std::log(static_cast<double>(windows_.back()));
    if (first == last) return kPlot.X(0.5);
    return kPlot.X(0.03 + 0.94 *
                              (std::log(static_cast<double>(window)) - first) /
                              (last - first));
  }

  std::string Axis() const {
    std::string svg;
    double free_from = 0;
    for (const int64_t window : windows_) {
      const std::string label = Grouped(static_cast<uint64_t>(window));
      const double half = 4 * static_cast<double>(label.size());
      svg += Line(X(window), kPlot.bottom, X(window), kPlot.bottom + 5, "grid");
      if (X(window) - half < free_from) continue;
      svg += Text(X(window), kPlot.bottom + 20, "middle", label);
      free_from = X(window) + half + 8;
    }
    svg += Text((kPlot.left + kPlot.right) / 2, kPlot.bottom + 42, "middle",
                windows_.empty() ? "the whole list at once"
                                 : "window in sequences, logarithmic");
    return svg;
  }

  std::string Title(const AdviceRow& row) const {
    return absl::StrCat(
        RuleLabel(row.spec),
        row.whole_list
            ? ", the whole list"
            : absl::StrCat(", window ", Grouped(static_cast<uint64_t>(
                                            row.spec.window_sequences))),
        ": ", PercentText(*row.figures.efficiency()), ", ",
        Counted(row.figures.packs, "pack"));
  }

  std::string WholeList(const Curve& curve) const {
    const AdviceRow& row = *curve.rows.front();
    const double y = Y(*row.figures.efficiency());
    return absl::StrFormat(
        "<path class=\"curve whole\" stroke=\"var(--s%d)\" "
        "d=\"M%.1f %.1fH%.1f\"><title>%s</title></path>\n",
        curve.style, kPlot.left, y, kPlot.right, Title(row));
  }

  std::string Windows(const Curve& curve) const {
    std::vector<std::string> points;
    std::string marks;
    for (const AdviceRow* row : curve.rows) {
      const double x = X(row->spec.window_sequences);
      const double y = Y(*row->figures.efficiency());
      points.push_back(absl::StrFormat("%.1f,%.1f", x, y));
      absl::StrAppendFormat(
          &marks,
          "<path transform=\"translate(%.1f %.1f)\" d=\"%s\" "
          "style=\"fill: var(--s%d)\"><title>%s</title></path>\n",
          x, y, kMarks[curve.style % std::size(kMarks)], curve.style,
          Title(*row));
    }
    return absl::StrFormat(
        "<polyline class=\"curve\" stroke=\"var(--s%d)\" points=\"%s\"/>\n%s",
        curve.style, absl::StrJoin(points, " "), marks);
  }

  // Circle, square, triangle, diamond.
  static constexpr const char* kMarks[] = {
      "M-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "M-4 -4h8v8h-8z", "M0 -5l5 9h-10z",
      "M0 -6l5 6l-5 6l-5 -6z"};

  const std::vector<int64_t>& windows_;
  const CapacityAdvice& capacity_;
  const double floor_;
  std::vector<Curve> curves_;
};

std::string TableRow(const std::vector<std::string>& cells, const char* tag,
                     const char* style = "") {
  std::string row = absl::StrCat("<tr", *style ? " class=\"" : "", style,
                                 *style ? "\"" : "", ">");
  for (const std::string& cell : cells) {
    absl::StrAppend(&row, "<", tag, ">", Escaped(cell), "</",
                    std::string(tag).substr(0, 2), ">");
  }
  return row + "</tr>\n";
}

std::string RowsTable(const Advice& advice, const CapacityAdvice& capacity) {
  std::string table = absl::StrCat(
      "<div class=\"panel\"><table>\n",
      TableRow({"rule", "window", "packs", "efficiency", "displaced",
                "mean a pack", "most a pack", "ns each"},
               "th scope=\"col\""));
  for (size_t i = 0; i < capacity.rows.size(); ++i) {
    const AdviceRow& row = capacity.rows[i];
    const bool chosen = capacity.recommended == i;
    table += TableRow(
        {absl::StrCat(RuleLabel(row.spec), chosen ? " (recommended)" : ""),
         row.whole_list
             ? "all"
             : Grouped(static_cast<uint64_t>(row.spec.window_sequences)),
         Grouped(row.figures.packs), PercentText(*row.figures.efficiency()),
         advice.ordered ? Grouped(row.figures.max_displacement) : "none",
         ShortNumber(row.mean_sequences()), Grouped(row.most_sequences),
         ShortNumber(row.seconds * 1e9 /
                     static_cast<double>(advice.sequences))},
        "td", chosen ? "chosen" : "");
  }
  table +=
      TableRow({"lower bound", "", Grouped(capacity.lower_bound_packs),
                PercentText(capacity.lower_bound_efficiency), "", "", "", ""},
               "td");
  return table + "</table></div>\n";
}

std::string AttentionTable(const AttentionCost& cost) {
  std::string table = absl::StrCat(
      "<div class=\"panel\"><table>\n<caption>Attention a token: the sum of "
      "L<sup>2</sup> inside sequences / packed tokens</caption>\n",
      TableRow({"way", "cost", "times packed"}, "th scope=\"col\""));
  const auto add = [&](const char* name, double value) {
    table += TableRow(
        {name, ShortNumber(value), ShortNumber(value / cost.packed)}, "td");
  };
  add("packed", cost.packed);
  if (cost.pad_to_longest.has_value()) {
    add("padded to the longest of 8", *cost.pad_to_longest);
  }
  add("one sequence a row", cost.one_per_row);
  return table + "</table></div>\n";
}

std::string OfCapacity(const Advice& advice, const CapacityAdvice& capacity) {
  std::string html = absl::StrCat(
      "<h2>Capacity ", Grouped(static_cast<uint64_t>(capacity.capacity)),
      "</h2>\n", Paragraph(OverlongSentence(advice, capacity)));
  if (!capacity.refusal.empty()) return html + Paragraph(capacity.refusal);
  if (capacity.rows.empty()) return html + Paragraph("Nothing is packed.");
  absl::StrAppend(&html, Paragraph(LimitSentence(advice, capacity)),
                  "<div class=\"panel\">\n",
                  EfficiencyChart(advice, capacity).Svg(), "</div>\n",
                  RowsTable(advice, capacity),
                  AttentionTable(capacity.attention));
  for (const LeftOut& rule : capacity.left_out) {
    html += Paragraph(absl::StrCat("Left out: ", rule.rule, ": ",
                                   InOptionNames(rule.reason), "."),
                      "soft");
  }
  return html;
}

std::string Summary(const Advice& advice) {
  return Paragraph(absl::StrCat(
      Counted(advice.sequences, "sequence"), ", ",
      Counted(advice.tokens, "token"), "; lengths ",
      Grouped(advice.lengths.front().length), " to ",
      Grouped(advice.lengths.back().length), ", mean ",
      ShortNumber(static_cast<double>(advice.tokens) /
                  static_cast<double>(advice.sequences)),
      ", median ", Grouped(Quantile(advice.lengths, 0.5)), ", 99 % at most ",
      Grouped(Quantile(advice.lengths, 0.99)), "."));
}

std::string Recommendation(const Advice& advice) {
  return absl::StrCat(
      "<div class=\"panel\">\n<h2>Recommended</h2>\n",
      Paragraph("As options of packhouse plan, stream and verify:"), "<code>",
      Escaped(
          SpecOptions(advice.recommended_capacity(), advice.recommended_row())),
      "</code>\n", Paragraph(Reason(advice)), "</div>\n");
}

}  // namespace

std::string AdviceHtml(const Advice& advice, absl::string_view name) {
  const std::string title =
      Escaped(absl::StrCat("Packing ", name.substr(name.rfind('/') + 1)));
  std::string html = absl::StrCat(
      "<!DOCTYPE html>\n"
      "<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
      "<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>",
      title, "</title>\n<style>", kStyle, "</style>\n</head>\n<body>\n<h1>",
      title, "</h1>\n", Summary(advice), Recommendation(advice),
      "<h2>Lengths</h2>\n",
      Paragraph("Bars: share of the sequences. Line: share of the tokens. "
                "Dashed: capacities that a sequence is as long as, or longer.",
                "soft"),
      "<div class=\"panel\">\n", LengthChart(advice).Svg(), "</div>\n");
  for (const CapacityAdvice& capacity : advice.capacities) {
    html += OfCapacity(advice, capacity);
  }
  absl::StrAppend(
      &html,
      Paragraph(absl::StrFormat("Advised by packhouse %s in %.2f s.",
                                PACKHOUSE_VERSION, advice.seconds),
                "soft"),
      "</body>\n</html>\n");
  return html;
}

}  // namespace packhouse
