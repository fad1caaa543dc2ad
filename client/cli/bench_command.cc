// The commands `bench packing` and `bench service`: how fast this machine packs
// and how long a packhoused takes to answer, as a table or as JSON.

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
#include "client/cli/round_trips.h"
#include "client/cli/service_load.h"
#include "nlohmann/json.hpp"
#include "packhouse/plan.h"
#include "packhouse/policy.h"

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

ordered_json MachineJson() {
  const Machine machine = ThisMachine();
  return {{"cpu", machine.cpu},
          {"threads", machine.threads},
          {"build_type", machine.build_type},
          {"compiler", machine.compiler},
          {"version", machine.version}};
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

// 0 for nothing in no time.
double Rate(double seconds, uint64_t count) {
  return count == 0 ? 0 : static_cast<double>(count) / seconds;
}

std::string RateText(double seconds, uint64_t count) {
  return Grouped(static_cast<uint64_t>(std::llround(Rate(seconds, count))));
}

// A file's name need not be UTF-8.
std::string Line(const ordered_json& json) {
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

double NsPerSequence(double seconds, size_t sequences) {
  return seconds * 1e9 / static_cast<double>(sequences);
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
  ordered_json json;
  json["machine"] = MachineJson();
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
  return Line(json);
}

double Microseconds(uint64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e3;
}

std::string LoadTable(const LoadQuery& query, const LoadResult& result) {
  const RoundTrips& trips = result.round_trips;
  std::string text = absl::StrCat(
      OneLine(query.client.target), ": ", Grouped(query.streams),
      query.streams == 1 ? " stream" : " streams", ", batches of ",
      Grouped(query.client.batch_sequences), " sequences, ",
      Grouped(query.in_flight), " in flight\n", RuleLabel(query.spec),
      ", packs of ", Grouped(static_cast<uint64_t>(query.spec.capacity_tokens)),
      " tokens, window of ",
      Grouped(static_cast<uint64_t>(query.spec.window_sequences)),
      " sequences\n\n");
  absl::StrAppendFormat(
      &text, "  %-14s%15s%15s a second\n  %-14s%15s%15s a second\n", "batches",
      Grouped(result.batches), RateText(result.seconds, result.batches),
      "sequences", Grouped(result.sequences),
      RateText(result.seconds, result.sequences));
  if (result.refused_batches > 0) {
    absl::StrAppendFormat(&text, "  %-14s%15s\n", "refused batches",
                          Grouped(result.refused_batches));
  }
  absl::StrAppendFormat(
      &text, "\n  %-14s%9s%9s%9s%9s\n  %-14s%9.1f%9.1f%9.1f%9.1f us\n", "",
      "p50", "p90", "p99", "max", "round trip",
      Microseconds(trips.QuantileNs(0.5)), Microseconds(trips.QuantileNs(0.9)),
      Microseconds(trips.QuantileNs(0.99)), Microseconds(trips.max_ns()));
  if (query.streams > 1) {
    absl::StrAppendFormat(&text, "  %-32s%9.1f\n", "of the worst stream",
                          Microseconds(result.worst_stream_p99_ns));
  }
  for (const auto& [code, streams] : result.failures) {
    absl::StrAppendFormat(&text, "  failed with %s: %s of %s streams\n",
                          absl::StatusCodeToString(code), Grouped(streams),
                          Grouped(query.streams));
  }
  return text;
}

std::string LoadJson(const Source& source, const LoadQuery& query,
                     const LoadResult& result) {
  const RoundTrips& trips = result.round_trips;
  ordered_json json;
  json["machine"] = MachineJson();
  json["lengths"] = source.name;
  json["capacity"] = query.spec.capacity_tokens;
  json["algorithm"] = query.spec.algorithm;
  json["window"] = query.spec.window_sequences;
  json["streams"] = query.streams;
  json["batch"] = query.client.batch_sequences;
  json["in_flight"] = query.in_flight;
  json["rate"] = query.batches_per_second;
  json["seconds"] = result.seconds;
  json["batches"] = result.batches;
  json["sequences"] = result.sequences;
  json["packs"] = result.packs;
  json["refused_batches"] = result.refused_batches;
  json["batches_per_second"] = Rate(result.seconds, result.batches);
  json["sequences_per_second"] = Rate(result.seconds, result.sequences);
  json["round_trip_us"] = {
      {"p50", Microseconds(trips.QuantileNs(0.5))},
      {"p90", Microseconds(trips.QuantileNs(0.9))},
      {"p99", Microseconds(trips.QuantileNs(0.99))},
      {"max", Microseconds(trips.max_ns())},
      {"worst_stream_p99", Microseconds(result.worst_stream_p99_ns)}};
  json["failures"] = ordered_json::object();
  for (const auto& [code, streams] : result.failures) {
    json["failures"][absl::StatusCodeToString(code)] = streams;
  }
  return Line(json);
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

absl::Status RunBenchService(const CommandOptions& options, std::ostream& out) {
  LoadQuery query = options.load;
  query.client = options.client;
  query.spec = options.spec;
  query.streams = options.streams;
  if (absl::Status status = ValidateSpec(query.spec); !status.ok()) {
    return absl::InvalidArgumentError(InOptionNames(status.message()));
  }
  if (!IsOnline(query.spec.algorithm)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--algorithm ", query.spec.algorithm,
                     " packs whole lists only: a service has streams"));
  }
  const absl::StatusOr<Source> source = ReadSource(options);
  if (!source.ok()) return source.status();
  absl::Status status = CheckLengths(query.spec, source->lengths, 0);
  if (!status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(InOptionNames(status.message()),
                     "; --overlong and --empty say what to "
                     "do with such sequences"));
  }
  const absl::StatusOr<LoadResult> result = RunLoad(query, source->lengths);
  if (!result.ok()) return OpenError(result.status());
  out << (options.json ? LoadJson(*source, query, *result)
                       : LoadTable(query, *result));
  if (result->failures.empty()) return absl::OkStatus();
  // The work had started, so that its end is no wrong usage whatever the code.
  return absl::AbortedError(
      absl::StrCat("a stream failed: ",
                   absl::StatusCodeToString(result->first_failure.code()), ": ",
                   result->first_failure.message()));
}

}  // namespace packhouse
