// The options of the commands, each in one place: what it is called, what its
// help says, which values are refused before a command runs and where the value
// goes.

#ifndef PACKHOUSE_CLIENT_CLI_OPTIONS_H_
#define PACKHOUSE_CLIENT_CLI_OPTIONS_H_

#include "CLI/CLI.hpp"
#include "client/cli/commands.h"

namespace packhouse {

// What LENGTHS may be: `kPlanLengthsText` where a histogram is of use too.
inline constexpr char kLengthsText[] =
    "Sequence lengths in tokens: one integer a line (- is\n"
    "standard input), .npy, or JSON Lines; .gz of these too";

inline constexpr char kPlanLengthsText[] =
    "Sequence lengths in tokens: one integer a line (- is\n"
    "standard input), .npy, JSON Lines, or a histogram in\n"
    ".hist.csv (length,count); .gz of these too";

// Each adds options to `app`; parsing it sets fields of *options and throws
// CLI::ValidationError where a value is out of range. What depends on several
// options, and the names of the rules, are left to ValidateSpec.
void AddLengths(CLI::App* app, CommandOptions* options, const char* text);
void AddSpec(CLI::App* app, CommandOptions* options);
void AddStreams(CLI::App* app, CommandOptions* options);
void AddOutput(CLI::App* app, CommandOptions* options);  // AddJson among them
void AddJson(CLI::App* app, CommandOptions* options);
void AddCost(CLI::App* app, CommandOptions* options);
void AddServer(CLI::App* app, CommandOptions* options);
void AddSurvival(CLI::App* app, CommandOptions* options);  // of a stream
void AddAdvise(CLI::App* app, CommandOptions* options);    // all but LENGTHS
void AddBenchPacking(CLI::App* app, CommandOptions* options);  // all of it
void AddBenchService(CLI::App* app, CommandOptions* options);  // all of it
void AddMasks(CLI::App* app, CommandOptions* options);         // all of it
void AddBatch(CLI::App* app, CommandOptions* options);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_OPTIONS_H_
