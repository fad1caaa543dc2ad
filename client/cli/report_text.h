// How the report of `plan` and `stream` looks: a short table for people, one
// JSON object for programs.

#ifndef PACKHOUSE_CLIENT_CLI_REPORT_TEXT_H_
#define PACKHOUSE_CLIENT_CLI_REPORT_TEXT_H_

#include <cstdint>
#include <string>

#include "absl/types/optional.h"
#include "packhouse/plan.h"
#include "packhouse/plan_check.h"
#include "packhouse/spec.h"

namespace packhouse {

// Sums of what packs cost (packhouse/cost.h).
struct CostSums {
  double total = 0;
  double dearest_pack = 0;
};

struct RunReport {
  PackSpec spec;
  uint64_t streams = 1;
  PackReport figures;

  // False for a histogram: then displacement and pad-to-longest mean nothing.
  bool ordered = true;

  double seconds = 0;  // of packing only

  absl::optional<CostSums> cost;   // where it was asked for
  absl::optional<PlanNotes> best;  // of the rule `best`
};

// Several lines, the last one ended too.
std::string ReportTable(const RunReport& run);

// One line, ended. docs/command-line.md says what the keys mean.
std::string ReportJson(const RunReport& run);

// "lpfhp"; of sliding the effort too where it is not the default: "sliding
// fast".
std::string RuleLabel(const PackSpec& spec);

// `number` with commas between thousands.
std::string Grouped(uint64_t number);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_REPORT_TEXT_H_
