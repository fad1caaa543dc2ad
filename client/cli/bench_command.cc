// The command `bench packing`: how fast this machine packs, as a table or as
// JSON.

#include <cmath>
#include <fstream>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/strip.h"
#include "client/cli/advise/advice.h"
#include "client/cli/commands.h"
#include "client/cli/error_text.h"
#include "client/cli/length_file.h"
#include "client/cli/line_reader.h"
#include "client/cli/packing_speed.h"
#include "client/cli/report_text.h"
#include "nlohmann/json.hpp"

namespace packhouse {
namespace {

using nlohmann::ordered_json;

// What the figures depend on.
struct Machine {
  std::string cpu;  // as Linux calls it; empty where it does not say
  unsigned threads = std::thread::hardware_concurrency();
  std::string build_type = PACKHOUSE_BUILD_TYPE;
  std::string compiler = PACKHOUSE_COMPILER;
  std::string version = PACKHOUSE_VERSION;
};

Machine ThisMachine() {
  Machine machine;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (!absl::StartsWith(line, "model name") || colon == std::string::npos) {
      continue;
    }
    machine.cpu = line.substr(colon + 2);
    break;
  }
  return machine;
}

// The list to pack, and what it is called.
struct Source {
  std::string name = "log-normal, median 512, sigma 1, up to 8192";
  LengthList lengths;
};

absl::StatusOr<Source> ReadSource(const CommandOptions& options) {
  Source source;
  if (options.lengths_path.empty()) {
    source.lengths = SyntheticLengths();
    return source;
  }
  absl::StatusOr<LengthInput> input =
      ReadLengths(options.lengths_path, options.field);
  if (!input.ok()) return input.status();
  source.name = InputName(options.lengths_path);
  if (std::holds_alternative<LengthHistogram>(*input)) {
    return absl::InvalidArgumentError(absl::StrCat(
        source.name,
        ": a histogram has no order of arrival, which this command needs"));
  }
  source.lengths = std::get<LengthList>(*std::move(input));
  return source;
}

double NsPerSequence(double seconds, size_t sequences) {
  return seconds * 1e9 / static_cast<double>(sequences);
}

double Rate(double seconds, size_t sequences) {
  return static_cast<double>(sequences) / seconds;
}

std::string RateText(double seconds, size_t sequences) {
  return Grouped(static_cast<uint64_t>(std::llround(Rate(seconds, sequences))));
}

std::string SpeedTable(const Source& source, const SpeedQuery& query,
                       const std::vector<SpeedRow>& rows) {
  const Machine machine = ThisMachine();
  const size_t sequences = source.lengths.size();
  std::string text = absl::StrCat(
      OneLine(source.name), ": ", Grouped(sequences), " sequences\npacks of ",
      Grouped(static_cast<uint64_t>(query.limits.capacity_tokens)),
      " tokens, window of ",
      Grouped(static_cast<uint64_t>(query.limits.window_sequences)),
      " sequences, one thread\n", machine.cpu.empty() ? "" : machine.cpu,
      machine.cpu.empty() ? "" : ", ", machine.compiler, " ",
      machine.build_type, "\n\n");
  absl::StrAppendFormat(&text,
                        "  %-17s%10s%26s%18s\n  %-17s%10s%13s%13s%9s%9s\n", "",
                        "", "sequences a second", "ns a sequence", "rule",
                        "full", "best", "median", "best", "median");
  for (const SpeedRow& row : rows) {
    absl::StrAppendFormat(
        &text, "  %-17s%10s%13s%13s%9.1f%9.1f\n", RuleLabel(row.spec),
        row.efficiency.has_value()
            ? absl::StrFormat("%.2f %%", 100 * *row.efficiency)
            : "-",
        RateText(row.best_seconds, sequences),
        RateText(row.median_seconds, sequences),
        NsPerSequence(row.best_seconds, sequences),
        NsPerSequence(row.median_seconds, sequences));
  }
  return text;
}

ordered_json RowJson(const SpeedRow& row, size_t sequences) {
  ordered_json json;
  json["algorithm"] = row.spec.algorithm;
  json["effort"] = nullptr;
  if (row.spec.algorithm == "sliding") {
    json["effort"] = kEffortNames[static_cast<int>(row.spec.effort)];
  }
  json["repetitions"] = row.repetitions;
  json["sequences_per_second"] = {
      {"best", Rate(row.best_seconds, sequences)},
      {"median", Rate(row.median_seconds, sequences)}};
  json["ns_per_sequence"] = {
      {"best", NsPerSequence(row.best_seconds, sequences)},
      {"median", NsPerSequence(row.median_seconds, sequences)}};
  json["packs"] = row.packs;
  json["efficiency"] = nullptr;
  if (row.efficiency.has_value()) json["efficiency"] = *row.efficiency;
  return json;
}

std::string SpeedJson(const Source& source, const SpeedQuery& query,
                      const std::vector<SpeedRow>& rows) {
  const Machine machine = ThisMachine();
  ordered_json json;
  json["machine"] = {{"cpu", machine.cpu},
                     {"threads", machine.threads},
                     {"build_type", machine.build_type},
                     {"compiler", machine.compiler},
                     {"version", machine.version}};
  json["lengths"] = source.name;
  json["sequences"] = source.lengths.size();
  json["capacity"] = query.limits.capacity_tokens;
  json["window"] = query.limits.window_sequences;
  json["max_sequences"] = query.limits.max_sequences_per_pack;
  json["alignment"] = query.limits.sequence_alignment;
  json["overlong"] = kOverlongNames[static_cast<int>(query.limits.overlong)];
  json["empty"] = kEmptyNames[static_cast<int>(query.limits.empty)];
  json["rows"] = ordered_json::array();
  for (const SpeedRow& row : rows) {
    json["rows"].push_back(RowJson(row, source.lengths.size()));
  }
  // A file's name need not be UTF-8.
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

}  // namespace

absl::Status RunBenchPacking(const CommandOptions& options, std::ostream& out) {
  const absl::StatusOr<Source> source = ReadSource(options);
  if (!source.ok()) return source.status();
  const absl::StatusOr<std::vector<SpeedRow>> rows =
      MeasurePacking(source->lengths, options.bench);
  if (!rows.ok()) {
    return absl::InvalidArgumentError(InOptionNames(rows.status().message()));
  }
  out << (options.json ? SpeedJson(*source, options.bench, *rows)
                       : SpeedTable(*source, options.bench, *rows));
  return absl::OkStatus();
}

}  // namespace packhouse
