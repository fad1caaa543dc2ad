// How fast the packing core is in this process.

#ifndef PACKHOUSE_CLIENT_CLI_PACKING_SPEED_H_
#define PACKHOUSE_CLIENT_CLI_PACKING_SPEED_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/optional.h"
#include "absl/types/span.h"
#include "packhouse/spec.h"

namespace packhouse {

// What benchmarks pack into by default: no synthetic length is longer.
inline constexpr int64_t kBenchCapacityTokens = 8192;

struct SpeedQuery {
  SpeedQuery() {
    limits.capacity_tokens = kBenchCapacityTokens;
    limits.overlong = Overlong::kDrop;
  }

  // Capacity, window and limits of every row.
  PackSpec limits;

  // Online rules; none: all of them. Of sliding every effort is measured.
  std::vector<std::string> algorithms;
};

// A rule that packed the list again and again.
struct SpeedRow {
  PackSpec spec;
  uint64_t repetitions = 0;
  double best_seconds = 0;  // processor time of one repetition
  double median_seconds = 0;
  uint64_t packs = 0;
  absl::optional<double> efficiency;  // absent without packs
};

// The list that is packed where none is given: 262,144 lengths, log-normal with
// the median 512 and the standard deviation 1 of the logarithm, as instruction
// data often looks, cut to 1 to 8192; always the same ones.
std::vector<uint32_t> SyntheticLengths();

// Packs `lengths`, one sequence at least, by each rule on one thread. Each
// repetition is a stream of its own, given in pieces of 4096 as a server gets
// them, from opening to its end. A rule repeats for about a second, 3 times at
// least and 1000 at most. INVALID_ARGUMENT for a rule that is not online, and
// as ValidateSpec and CheckLengths say.
absl::StatusOr<std::vector<SpeedRow>> MeasurePacking(
    absl::Span<const uint32_t> lengths, const SpeedQuery& query);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_PACKING_SPEED_H_
