// What each command of `packhouse` does, once its arguments are known.
//
// A command reads and checks all of its input first, works, and prints last:
// an error leaves nothing on `out`. INVALID_ARGUMENT is the user's to mend
// (arguments, files, lengths, what the server says of them); any other error
// means that a check does not hold or that the work could not be finished.

#ifndef PACKHOUSE_CLIENT_CLI_COMMANDS_H_
#define PACKHOUSE_CLIENT_CLI_COMMANDS_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "client/cli/advise/advice.h"
#include "client/cli/masks/masks.h"
#include "client/cli/packing_speed.h"
#include "client/cli/service_load.h"
#include "packhouse/client.h"
#include "packhouse/cost.h"
#include "packhouse/spec.h"

namespace packhouse {

// One client keeps all streams open at once.
inline constexpr uint64_t kMaxStreams = 1000;

struct CommandOptions {
  std::string lengths_path;  // LENGTHS
  std::string field;         // of JSON Lines; empty for other formats
  PackSpec spec;
  bool window_given = false;  // else spec holds the default
  CostModel cost;             // no cost is asked for where both are 0
  uint64_t streams = 1;       // 1 to kMaxStreams
  ClientOptions client;
  std::string packs_path;  // PACKS; empty: none is written
  std::string fates_path;  // likewise
  bool json = false;
  AdviceQuery advice;     // of advise, in place of spec
  std::string html_path;  // likewise; empty: none is written
  SpeedQuery bench;       // of bench packing, in place of spec
  LoadQuery load;         // of bench service, with spec, streams and client
  MasksQuery masks;       // of masks, which has nothing else
};

absl::Status RunPlan(const CommandOptions& options, std::ostream& out);
absl::Status RunStream(const CommandOptions& options, std::ostream& out);

// FAILED_PRECONDITION where PACKS is not a legal answer for LENGTHS; `out` then
// has the JSON, if that was asked for.
absl::Status RunVerify(const CommandOptions& options, std::ostream& out);

absl::Status RunAdvise(const CommandOptions& options, std::ostream& out);

// Takes LENGTHS of its own where lengths_path is empty.
absl::Status RunBenchPacking(const CommandOptions& options, std::ostream& out);

// Likewise. An error where a stream failed; `out` has the report even so,
// unless no stream could be opened.
absl::Status RunBenchService(const CommandOptions& options, std::ostream& out);

absl::Status RunMasks(const CommandOptions& options, std::ostream& out);

absl::Status RunHealth(const CommandOptions& options, std::ostream& out);
absl::Status RunStatus(const CommandOptions& options, std::ostream& out);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_COMMANDS_H_
