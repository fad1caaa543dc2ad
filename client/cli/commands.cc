#include "client/cli/commands.h"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "client/cli/error_text.h"
#include "client/cli/fates_file.h"
#include "client/cli/length_file.h"
#include "client/cli/line_reader.h"
#include "client/cli/output_file.h"
#include "client/cli/packs_file.h"
#include "client/cli/report_text.h"
#include "client/cli/stopwatch.h"
#include "nlohmann/json.hpp"
#include "packhouse/histogram.h"
#include "packhouse/packs.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "packhouse/policy.h"

namespace packhouse {
namespace {

// Sequences that one stream gets before the next has its turn.
constexpr size_t kTurnSequences = 4096;

// An error that is the user's to mend.
absl::Status InputError(absl::string_view about, absl::string_view text) {
  return absl::InvalidArgumentError(absl::StrCat(about, ": ", text));
}

absl::Status CheckInput(const PackSpec& spec, const LengthList& list,
                        const std::string& name) {
  const absl::Status status = CheckLengths(spec, list, 0);
  if (status.ok()) return status;
  const bool has_empty = spec.empty == Empty::kError &&
                         std::find(list.begin(), list.end(), 0) != list.end();
  return InputError(name,
                    absl::StrCat(status.message(), " (ordinals count from 0; ",
                                 has_empty ? "--empty" : "--overlong",
                                 " says what to do with such)"));
}

absl::Status CheckInput(const PackSpec& spec, const LengthHistogram& histogram,
                        const std::string& name) {
  for (const LengthCount& entry : histogram) {
    if (CheckLengths(spec, {entry.length}, 0).ok()) continue;
    return InputError(
        name, absl::StrCat("length ", entry.length, ", count ", entry.count,
                           ", cannot be packed: it must be from ",
                           spec.empty == Empty::kError ? 1 : 0, " to ",
                           LongestAccepted(spec), " at capacity ",
                           spec.capacity_tokens));
  }
  return absl::OkStatus();
}

absl::Status CheckSpec(const CommandOptions& options) {
  const PackSpec& spec = options.spec;
  absl::Status status = ValidateSpec(spec);
  if (!status.ok()) {
    return absl::InvalidArgumentError(InOptionNames(status.message()));
  }
  if (options.window_given && !IsOnline(spec.algorithm)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--window is ", spec.window_sequences, ", but ",
                     spec.algorithm, " packs the whole list at once"));
  }
  return absl::OkStatus();
}

// Checks what can be checked without the lengths, reads them and checks them.
// This is done before streams are made of the list, so that an error counts the
// sequences as LENGTHS does.
absl::StatusOr<LengthInput> ReadInput(const CommandOptions& options) {
  absl::Status status = CheckSpec(options);
  if (!status.ok()) return status;
  absl::StatusOr<LengthInput> input =
      ReadLengths(options.lengths_path, options.field);
  if (!input.ok()) return input;
  status = std::visit(
      [&](const auto& lengths) {
        return CheckInput(options.spec, lengths,
                          InputName(options.lengths_path));
      },
      *input);
  if (!status.ok()) return status;
  return input;
}

// As ReadInput, for the commands that need an order of arrival.
absl::StatusOr<LengthList> ReadList(const CommandOptions& options) {
  absl::StatusOr<LengthInput> input = ReadInput(options);
  if (!input.ok()) return input.status();
  LengthList* list = std::get_if<LengthList>(&*input);
  if (list == nullptr) {
    return InputError(
        options.lengths_path,
        "a histogram has no order of arrival, which this command needs");
  }
  return std::move(*list);
}

// OK if what a command writes can be expected to reach its places.
absl::Status CheckOutputPaths(const CommandOptions& options) {
  const std::string& lengths = options.lengths_path;
  const auto check = [&](const char* option, const std::string& path) {
    if (path.empty()) return absl::OkStatus();
    if (IsSameFile(lengths, path)) {
      return InputError(option,
                        absl::StrCat(path, " is the file of LENGTHS itself"));
    }
    return CheckOutputPath(path);
  };
  absl::Status status = check("--packs", options.packs_path);
  if (status.ok()) status = check("--fates", options.fates_path);
  if (status.ok() && !options.fates_path.empty() &&
      IsSameOutput(options.fates_path, options.packs_path)) {
    return InputError(
        "--fates", absl::StrCat(options.fates_path, " is the file of --packs"));
  }
  return status;
}

// Deals the list out to streams: sequence i is ordinal i div K of stream
// i mod K.
std::vector<LengthList> Deal(LengthList list, uint64_t streams) {
  std::vector<LengthList> lists(streams);
  if (streams == 1) {
    lists[0] = std::move(list);
    return lists;
  }
  for (LengthList& dealt : lists) dealt.reserve(list.size() / streams + 1);
  size_t stream = 0;
  for (const uint32_t length : list) {
    lists[stream].push_back(length);
    if (++stream == streams) stream = 0;
  }
  return lists;
}

// The packs of some streams, and how long packing took.
struct PackRun {
  std::vector<Packs> packs;
  double seconds = 0;
  PlanNotes notes;  // of a plan
};

// Names the stream where there are several.
absl::Status StreamError(const absl::Status& status, size_t stream,
                         size_t streams) {
  if (status.ok() || streams == 1) return status;
  return absl::Status(status.code(),
                      absl::StrCat("stream ", stream, ": ", status.message()));
}

absl::Status TakeInto(PackStream& stream, Packs* packs) {
  absl::StatusOr<Packs> taken = stream.Take();
  if (!taken.ok()) return taken.status();
  packs->Append(*taken);
  return absl::OkStatus();
}

// Gives `stream` its next sequences and takes what is ready.
absl::Status Turn(PackStream& stream, absl::Span<const uint32_t> lengths,
                  Packs* packs) {
  absl::Status status = stream.Add(lengths);
  return status.ok() ? TakeInto(stream, packs) : status;
}

absl::Status End(PackStream& stream, Packs* packs) {
  absl::Status status = stream.End();
  return status.ok() ? TakeInto(stream, packs) : status;
}

// Packs each list as a stream of its own, all of them at once, in turns.
absl::StatusOr<PackRun> PackStreams(Client& client, const PackSpec& spec,
                                    absl::Span<const LengthList> lists) {
  const size_t count = lists.size();
  std::vector<std::unique_ptr<PackStream>> streams;
  for (size_t k = 0; k < count; ++k) {
    absl::StatusOr<std::unique_ptr<PackStream>> stream =
        client.OpenStream(spec);
    if (!stream.ok()) {
      return StreamError(OpenError(stream.status()), k, count);
    }
    streams.push_back(*std::move(stream));
  }
  PackRun run;
  run.packs.resize(count);
  for (size_t k = 0; k < count; ++k) {
    run.packs[k].ordinals.reserve(lists[k].size());
  }
  const Stopwatch watch;
  // The first list is the longest.
  for (size_t at = 0; at < lists[0].size(); at += kTurnSequences) {
    for (size_t k = 0; k < count && at < lists[k].size(); ++k) {
      absl::Status status =
          Turn(*streams[k],
               absl::MakeConstSpan(lists[k]).subspan(at, kTurnSequences),
               &run.packs[k]);
      if (!status.ok()) return StreamError(status, k, count);
    }
  }
  for (size_t k = 0; k < count; ++k) {
    absl::Status status = End(*streams[k], &run.packs[k]);
    if (!status.ok()) return StreamError(status, k, count);
  }
  run.seconds = watch.seconds();
  return run;
}

absl::StatusOr<PackReport> SummarizeStreams(absl::Span<const LengthList> lists,
                                            const PackSpec& spec,
                                            absl::Span<const Packs> packs) {
  PackReport sum;
  for (size_t k = 0; k < lists.size(); ++k) {
    absl::StatusOr<PackReport> report = Summarize(lists[k], spec, packs[k]);
    if (!report.ok()) return report;
    sum.Merge(*report);
  }
  return sum;
}

// Prints the report, unless standard output is taken by the packs.
void PrintReport(const RunReport& report, const CommandOptions& options,
                 std::ostream& out) {
  if (IsStandardOutput(options.packs_path) ||
      IsStandardOutput(options.fates_path)) {
    return;
  }
  out << (options.json ? ReportJson(report) : ReportTable(report));
}

bool HasCost(const CommandOptions& options) {
  return options.cost.per_token > 0 || options.cost.per_token_squared > 0;
}

absl::StatusOr<CostSums> SumCosts(const CommandOptions& options,
                                  absl::Span<const LengthList> lists,
                                  absl::Span<const Packs> packs) {
  CostSums sums;
  for (size_t k = 0; k < lists.size(); ++k) {
    const absl::StatusOr<std::vector<double>> costs =
        PackCosts(PackedTokens(options.spec, lists[k], 0, packs[k]), packs[k],
                  options.cost);
    if (!costs.ok()) return costs.status();
    for (const double cost : *costs) {
      sums.total += cost;
      sums.dearest_pack = std::max(sums.dearest_pack, cost);
    }
  }
  return sums;
}

// What `best` has proven stands in for the bound of every plan.
void AddNotes(const PlanNotes& notes, RunReport* report) {
  if (report->spec.algorithm != "best") return;
  report->best = notes;
  report->figures.lower_bound_packs =
      std::max(report->figures.lower_bound_packs, notes.lower_bound_packs);
}

// A writer to each place that was given.
absl::StatusOr<std::vector<std::unique_ptr<TextWriter>>> OpenWriters(
    absl::Span<const std::string> paths) {
  std::vector<std::unique_ptr<TextWriter>> writers;
  for (const std::string& path : paths) {
    writers.emplace_back();
    if (path.empty()) continue;
    absl::StatusOr<OutputFile> file = OutputFile::Open(path);
    if (!file.ok()) return file.status();
    writers.back() = std::make_unique<TextWriter>(*std::move(file));
  }
  return writers;
}

// Makes the files appear, once all of them are written.
absl::Status FinishWriters(
    absl::Span<const std::unique_ptr<TextWriter>> writers) {
  for (const auto& writer : writers) {
    if (writer == nullptr) continue;
    if (absl::Status status = writer->Flush(); !status.ok()) return status;
  }
  for (const auto& writer : writers) {
    if (writer == nullptr) continue;
    if (absl::Status status = writer->Finish(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status WriteFiles(const CommandOptions& options,
                        absl::Span<const LengthList> lists,
                        absl::Span<const Packs> packs) {
  auto writers = OpenWriters({options.packs_path, options.fates_path});
  if (!writers.ok()) return writers.status();
  TextWriter* const packs_writer = (*writers)[0].get();
  TextWriter* const fates_writer = (*writers)[1].get();
  if (packs_writer != nullptr) {
    WritePacks(options.spec, lists, packs, packs_writer);
  }
  if (fates_writer != nullptr) WriteFates(options.spec, lists, fates_writer);
  return FinishWriters(*writers);
}

// Writes and prints what a run gave.
absl::Status Deliver(const CommandOptions& options,
                     absl::Span<const LengthList> lists, const PackRun& run,
                     std::ostream& out) {
  absl::StatusOr<PackReport> figures =
      SummarizeStreams(lists, options.spec, run.packs);
  if (!figures.ok()) return figures.status();
  absl::Status status = WriteFiles(options, lists, run.packs);
  if (!status.ok()) return status;
  RunReport report;
  report.spec = options.spec;
  report.streams = options.streams;
  report.figures = *figures;
  report.seconds = run.seconds;
  AddNotes(run.notes, &report);
  if (HasCost(options)) {
    absl::StatusOr<CostSums> cost = SumCosts(options, lists, run.packs);
    if (!cost.ok()) return cost.status();
    report.cost = *cost;
  }
  PrintReport(report, options, out);
  return absl::OkStatus();
}

absl::Status PlanList(const CommandOptions& options, LengthList list,
                      std::ostream& out) {
  const Stopwatch watch;
  PackRun run;
  absl::StatusOr<Packs> packs = Plan(list, options.spec, &run.notes);
  if (!packs.ok()) return packs.status();
  run.seconds = watch.seconds();
  run.packs.push_back(*std::move(packs));
  return Deliver(options, absl::MakeConstSpan(&list, 1), run, out);
}

absl::Status PlanOfHistogram(const CommandOptions& options,
                             const LengthHistogram& histogram,
                             std::ostream& out) {
  if (!options.fates_path.empty()) {
    return InputError("--fates", "a histogram names no sequences");
  }
  if (HasCost(options)) {
    return InputError("--cost-per-token", "costs are reported for lists only");
  }
  if (options.spec.seed.has_value()) {
    return InputError("--seed", "the packs of a histogram have no order");
  }
  const Stopwatch watch;
  PlanNotes notes;
  absl::StatusOr<HistogramPlan> plan =
      PlanHistogram(histogram, options.spec, &notes);
  if (!plan.ok()) {
    return InputError(options.lengths_path, plan.status().message());
  }
  const double seconds = watch.seconds();
  RunReport report;
  report.spec = options.spec;
  report.figures = plan->report;
  report.ordered = false;
  report.seconds = seconds;
  AddNotes(notes, &report);
  const uint64_t sequences = plan->report.intake.sequences;
  if (!options.window_given) {
    report.spec.window_sequences = static_cast<int64_t>(sequences);
  } else if (static_cast<uint64_t>(options.spec.window_sequences) < sequences) {
    return InputError(
        options.lengths_path,
        absl::StrCat("a histogram has no order of arrival, so the window must "
                     "hold all of its ",
                     sequences, " sequences; --window is ",
                     options.spec.window_sequences));
  }
  auto writers = OpenWriters({options.packs_path});
  if (!writers.ok()) return writers.status();
  if ((*writers)[0] != nullptr) WriteHistogramPacks(*plan, (*writers)[0].get());
  if (absl::Status status = FinishWriters(*writers); !status.ok()) {
    return status;
  }
  PrintReport(report, options, out);
  return absl::OkStatus();
}

// OK if the lengths that PACKS states are those of the list. Requires packs
// that Verify accepts.
absl::Status CheckStatedLengths(absl::Span<const uint32_t> lengths,
                                const PackSpec& spec, const PackLines& lines) {
  const Packs& packs = lines.packs;
  const std::vector<uint32_t> tokens = PackedTokens(spec, lengths, 0, packs);
  for (size_t pack = 0; pack < packs.size(); ++pack) {
    for (uint64_t i = packs.offsets[pack]; i < packs.offsets[pack + 1]; ++i) {
      if (lines.lengths[i] == tokens[i]) continue;
      return absl::FailedPreconditionError(absl::StrCat(
          "pack ", pack, " (line ", lines.line_numbers[pack],
          ") gives sequence ", packs.ordinals[i], " length ", lines.lengths[i],
          ", but by LENGTHS it has ", tokens[i]));
    }
  }
  return absl::OkStatus();
}

absl::Status VerifyStreams(absl::Span<const LengthList> lists,
                           const PackSpec& spec,
                           absl::Span<const PackLines> streams) {
  for (size_t k = 0; k < lists.size(); ++k) {
    absl::Status status = Verify(lists[k], spec, streams[k].packs);
    if (!status.ok()) {
      status = absl::Status(
          status.code(),
          absl::StrCat(status.message(), " (packs and ordinals count from 0)"));
    }
    if (status.ok()) status = CheckStatedLengths(lists[k], spec, streams[k]);
    if (!status.ok()) return StreamError(status, k, lists.size());
  }
  return absl::OkStatus();
}

struct Verdict {
  absl::Status status;  // FAILED_PRECONDITION says what does not hold
  uint64_t sequences = 0;
  uint64_t packs = 0;
  bool has_fates = false;  // of sequences that are not packed whole
};

// In words a violation is the error's, on the other channel.
void PrintVerdict(const Verdict& verdict, const CommandOptions& options,
                  std::ostream& out) {
  using nlohmann::ordered_json;
  const bool ok = verdict.status.ok();
  if (options.json) {
    ordered_json json;
    json["ok"] = ok;
    json["sequences"] = verdict.sequences;
    json["packs"] = verdict.packs;
    json["capacity"] = options.spec.capacity_tokens;
    json["streams"] = options.streams;
    json["violation"] = nullptr;
    if (!ok) json["violation"] = absl::StrCat(verdict.status.message());
    // A file's name need not be UTF-8.
    out << json.dump(-1, ' ', false, ordered_json::error_handler_t::replace)
        << "\n";
  } else if (ok) {
    out << "ok: " << Grouped(verdict.packs) << " packs hold "
        << (verdict.has_fates ? "what is to be packed of " : "each of ")
        << Grouped(verdict.sequences) << " sequences once, none over "
        << Grouped(options.spec.capacity_tokens) << " tokens\n";
  }
}

}  // namespace

absl::Status RunPlan(const CommandOptions& options, std::ostream& out) {
  absl::Status status = CheckOutputPaths(options);
  if (!status.ok()) return status;
  absl::StatusOr<LengthInput> input = ReadInput(options);
  if (!input.ok()) return input.status();
  if (const auto* histogram = std::get_if<LengthHistogram>(&*input)) {
    return PlanOfHistogram(options, *histogram, out);
  }
  return PlanList(options, std::get<LengthList>(*std::move(input)), out);
}

absl::Status RunStream(const CommandOptions& options, std::ostream& out) {
  absl::Status status = CheckOutputPaths(options);
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<Client>> client =
      Client::Create(options.client);
  if (!client.ok()) return client.status();
  status = CheckSpec(options);
  if (!status.ok()) return status;
  if (!IsOnline(options.spec.algorithm)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--algorithm ", options.spec.algorithm,
                     " packs whole lists only: use plan"));
  }
  absl::StatusOr<LengthList> list = ReadList(options);
  if (!list.ok()) return list.status();
  const std::vector<LengthList> lists = Deal(*std::move(list), options.streams);
  absl::StatusOr<PackRun> run = PackStreams(**client, options.spec, lists);
  if (!run.ok()) return run.status();
  return Deliver(options, lists, *run, out);
}

absl::Status RunVerify(const CommandOptions& options, std::ostream& out) {
  absl::StatusOr<LengthList> list = ReadList(options);
  if (!list.ok()) return list.status();
  Verdict verdict;
  verdict.sequences = list->size();
  verdict.has_fates = !Fates(options.spec, *list, 0).empty();
  absl::StatusOr<std::vector<PackLines>> streams =
      ReadPacks(options.packs_path, options.streams);
  verdict.status = streams.status();
  if (absl::IsInvalidArgument(verdict.status)) return verdict.status;
  if (streams.ok()) {
    const std::vector<LengthList> lists =
        Deal(*std::move(list), options.streams);
    verdict.status = VerifyStreams(lists, options.spec, *streams);
    for (const PackLines& lines : *streams) verdict.packs += lines.packs.size();
  }
  PrintVerdict(verdict, options, out);
  return verdict.status;
}

absl::Status RunMasks(const CommandOptions& options, std::ostream& out) {
  return PrintMasks(options.masks, out);
}

absl::Status RunHealth(const CommandOptions& options, std::ostream& out) {
  absl::StatusOr<std::unique_ptr<Client>> client =
      Client::Create(options.client);
  if (!client.ok()) return client.status();
  absl::Status status = (*client)->CheckHealth();
  if (status.ok()) out << "serving\n";
  return status;
}

}  // namespace packhouse
