#include "client/cli/report_text.h"

#include <cmath>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/types/optional.h"
#include "nlohmann/json.hpp"

namespace packhouse {
namespace {

std::string Row(absl::string_view name, absl::string_view value,
                absl::string_view remark = "") {
  return absl::StrFormat("  %-28s%18s%s%s\n", name, value,
                         remark.empty() ? "" : "   ", remark);
}

std::string Percent(absl::optional<double> ratio) {
  return ratio.has_value() ? absl::StrFormat("%.2f %%", 100 * *ratio)
                           : "not defined";
}

// What the packs are made of, in one line.
std::string Heading(const RunReport& run) {
  const PackSpec& spec = run.spec;
  std::string text = absl::StrCat(
      spec.algorithm, ", packs of ", Grouped(spec.capacity_tokens),
      " tokens, window of ", Grouped(spec.window_sequences), " sequences");
  if (spec.sequence_alignment > 1) {
    absl::StrAppend(&text, ", aligned to ", Grouped(spec.sequence_alignment));
  }
  if (spec.max_sequences_per_pack > 0) {
    absl::StrAppend(&text, ", at most ", Grouped(spec.max_sequences_per_pack),
                    " sequences a pack");
  }
  if (run.streams > 1) {
    absl::StrAppend(&text, ", ", Grouped(run.streams), " streams");
  }
  return text;
}

// How many times the slots of the packs `slots` are.
std::string Times(uint64_t slots, const PackReport& packed) {
  if (packed.packs == 0) return "";
  return absl::StrFormat(
      "%.2f times the packs",
      static_cast<double>(slots) / static_cast<double>(packed.slots()));
}

std::string Rate(const RunReport& run) {
  if (run.seconds <= 0) return "";
  const double rate = static_cast<double>(run.figures.sequences) / run.seconds;
  return absl::StrCat(Grouped(static_cast<uint64_t>(std::llround(rate))),
                      " sequences/s");
}

}  // namespace

std::string ReportTable(const RunReport& run) {
  const PackReport& figures = run.figures;
  std::string text = absl::StrCat(Heading(run), "\n\n");
  text += Row("sequences", Grouped(figures.sequences));
  text += Row("tokens", Grouped(figures.tokens));
  text += Row("packs", Grouped(figures.packs),
              absl::StrCat("no packing needs fewer than ",
                           Grouped(figures.lower_bound_packs)));
  text += Row("efficiency", Percent(figures.efficiency()),
              "tokens / (packs x capacity)");
  text += Row("empty slots at pack ends", Grouped(figures.waste_tail_tokens));
  text +=
      Row("empty slots of alignment", Grouped(figures.waste_alignment_tokens));
  if (run.ordered) {
    text += Row("largest displacement", Grouped(figures.max_displacement),
                "sequences");
  }
  text += Row("seconds", absl::StrFormat("%.6f", run.seconds), Rate(run));
  text += "\nSlots, to compare:\n";
  text += Row("packs", Grouped(figures.slots()));
  if (run.ordered) {
    text +=
        Row("padded to the longest of 8", Grouped(figures.pad_to_longest_slots),
            Times(figures.pad_to_longest_slots, figures));
  }
  text += Row("one sequence a row", Grouped(figures.one_per_row_slots),
              Times(figures.one_per_row_slots, figures));
  return text;
}

std::string ReportJson(const RunReport& run) {
  const PackReport& figures = run.figures;
  nlohmann::ordered_json json;
  json["sequences"] = figures.sequences;
  json["tokens"] = figures.tokens;
  json["packs"] = figures.packs;
  json["capacity"] = figures.capacity_tokens;
  json["efficiency"] = nullptr;
  if (figures.efficiency()) json["efficiency"] = *figures.efficiency();
  json["lower_bound_packs"] = figures.lower_bound_packs;
  json["waste_tokens"]["tail"] = figures.waste_tail_tokens;
  json["waste_tokens"]["alignment"] = figures.waste_alignment_tokens;
  // An over-long or empty sequence is an error, so none was cut or left out.
  json["truncated_tokens"] = 0;
  json["dropped_tokens"] = 0;
  json["dropped_sequences"] = 0;
  json["empty_sequences"] = 0;
  json["max_displacement"] = nullptr;
  if (run.ordered) json["max_displacement"] = figures.max_displacement;
  json["seconds"] = run.seconds;
  json["algorithm"] = run.spec.algorithm;
  json["window"] = run.spec.window_sequences;
  json["max_sequences"] = run.spec.max_sequences_per_pack;
  json["alignment"] = run.spec.sequence_alignment;
  json["streams"] = run.streams;
  json["one_per_row_slots"] = figures.one_per_row_slots;
  json["pad_to_longest_slots"] = nullptr;
  if (run.ordered) json["pad_to_longest_slots"] = figures.pad_to_longest_slots;
  return json.dump() + "\n";
}

std::string Grouped(uint64_t number) {
  std::string text = absl::StrCat(number);
  for (size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

}  // namespace packhouse
