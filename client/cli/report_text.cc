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
      spec.algorithm, ", packs of ", Grouped(spec.capacity_tokens), " tokens, ",
      IsOnline(spec.algorithm)
          ? absl::StrCat("window of ", Grouped(spec.window_sequences),
                         " sequences")
          : "the whole list at once");
  if (spec.algorithm == "sliding") {
    absl::StrAppend(&text, ", ", kEffortNames[static_cast<int>(spec.effort)]);
  }
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
  const double rate =
      static_cast<double>(run.figures.intake.sequences) / run.seconds;
  return absl::StrCat(Grouped(static_cast<uint64_t>(std::llround(rate))),
                      " sequences/s");
}

// What became of sequences that are not packed whole; nothing if all are.
std::string FateRows(const IntakeCounts& intake) {
  std::string text;
  const auto row = [&](absl::string_view name, uint64_t sequences,
                       const std::string& remark) {
    if (sequences > 0) text += Row(name, Grouped(sequences), remark);
  };
  row("  empty, dropped", intake.empty_sequences, "");
  row("  over-long, dropped", intake.dropped_sequences,
      absl::StrCat(Grouped(intake.dropped_tokens), " tokens lost"));
  row("  over-long, truncated", intake.truncated_sequences,
      absl::StrCat(Grouped(intake.truncated_tokens), " tokens lost"));
  row("  over-long, split", intake.split_sequences,
      absl::StrCat("into ",
                   Grouped(intake.split_sequences + intake.extra_pieces),
                   " pieces"));
  return text;
}

// What `best` says of its plan.
std::string BestRows(const RunReport& run) {
  if (!run.best.has_value()) return "";
  const uint64_t gap = run.figures.packs - run.figures.lower_bound_packs;
  std::string text =
      Row("packs above the proven bound", Grouped(gap),
          gap == 0 ? "proven: there is no better plan"
          : run.best->is_cut_short
              ? "the budget ended the search: more time may find fewer"
              : "the search is done");
  text += Row("found by", run.best->found_by);
  if (!run.best->lp_available) {
    text += Row("linear programs", "none", "this build has no solver");
  }
  return text;
}

std::string CostRows(const RunReport& run) {
  if (!run.cost.has_value() || run.figures.packs == 0) return "";
  const double mean = run.cost->total / static_cast<double>(run.figures.packs);
  const auto number = [](double value) {
    return absl::StrFormat("%.6g", value);
  };
  return Row("cost of all packs", number(run.cost->total)) +
         Row("cost of the dearest pack", number(run.cost->dearest_pack),
             mean > 0 ? absl::StrFormat("%.2f times the mean",
                                        run.cost->dearest_pack / mean)
                      : "");
}

}  // namespace

std::string ReportTable(const RunReport& run) {
  const PackReport& figures = run.figures;
  std::string text = absl::StrCat(Heading(run), "\n\n");
  text += Row("sequences", Grouped(figures.intake.sequences));
  text += Row("tokens", Grouped(figures.intake.tokens));
  text += FateRows(figures.intake);
  text += Row("packs", Grouped(figures.packs),
              absl::StrCat("no packing needs fewer than ",
                           Grouped(figures.lower_bound_packs)));
  text += Row("efficiency", Percent(figures.efficiency()),
              "packed tokens / (packs x capacity)");
  text += Row("empty slots at pack ends", Grouped(figures.waste_tail_tokens));
  text +=
      Row("empty slots of alignment", Grouped(figures.waste_alignment_tokens));
  if (run.ordered) {
    text += Row("largest displacement", Grouped(figures.max_displacement),
                "sequences");
  }
  text += BestRows(run);
  text += CostRows(run);
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
  json["sequences"] = figures.intake.sequences;
  json["tokens"] = figures.intake.tokens;
  json["packs"] = figures.packs;
  json["capacity"] = figures.capacity_tokens;
  json["efficiency"] = nullptr;
  if (figures.efficiency()) json["efficiency"] = *figures.efficiency();
  json["lower_bound_packs"] = figures.lower_bound_packs;
  json["waste_tokens"]["tail"] = figures.waste_tail_tokens;
  json["waste_tokens"]["alignment"] = figures.waste_alignment_tokens;
  const IntakeCounts& intake = figures.intake;
  json["truncated_tokens"] = intake.truncated_tokens;
  json["dropped_tokens"] = intake.dropped_tokens;
  json["dropped_sequences"] = intake.dropped_sequences;
  json["empty_sequences"] = intake.empty_sequences;
  json["max_displacement"] = nullptr;
  if (run.ordered) json["max_displacement"] = figures.max_displacement;
  json["seconds"] = run.seconds;
  json["algorithm"] = run.spec.algorithm;
  json["window"] = run.spec.window_sequences;
  json["max_sequences"] = run.spec.max_sequences_per_pack;
  json["alignment"] = run.spec.sequence_alignment;
  json["overlong"] = kOverlongNames[static_cast<int>(run.spec.overlong)];
  json["empty"] = kEmptyNames[static_cast<int>(run.spec.empty)];
  json["seed"] = nullptr;
  if (run.spec.seed.has_value()) json["seed"] = *run.spec.seed;
  json["effort"] = nullptr;
  if (run.spec.algorithm == "sliding") {
    json["effort"] = kEffortNames[static_cast<int>(run.spec.effort)];
  }
  json["units"] = intake.units;
  json["packed_tokens"] = intake.packed_tokens;
  json["truncated_sequences"] = intake.truncated_sequences;
  json["split_sequences"] = intake.split_sequences;
  json["extra_pieces"] = intake.extra_pieces;
  json["best"] = nullptr;
  if (run.best.has_value()) {
    json["best"] = nlohmann::ordered_json::object();
    json["best"]["found_by"] = run.best->found_by;
    json["best"]["gap_packs"] = figures.packs - figures.lower_bound_packs;
    json["best"]["lp_available"] = run.best->lp_available;
    json["best"]["is_cut_short"] = run.best->is_cut_short;
  }
  json["cost"] = nullptr;
  if (run.cost.has_value()) {
    json["cost"] = nlohmann::ordered_json::object();
    json["cost"]["total"] = run.cost->total;
    json["cost"]["dearest_pack"] = run.cost->dearest_pack;
  }
  json["streams"] = run.streams;
  json["one_per_row_slots"] = figures.one_per_row_slots;
  json["pad_to_longest_slots"] = nullptr;
  if (run.ordered) json["pad_to_longest_slots"] = figures.pad_to_longest_slots;
  return json.dump() + "\n";
}

std::string RuleLabel(const PackSpec& spec) {
  if (spec.algorithm != "sliding" || spec.effort == Effort::kBalanced) {
    return spec.algorithm;
  }
  return absl::StrCat("sliding ", kEffortNames[static_cast<int>(spec.effort)]);
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
