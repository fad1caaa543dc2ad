// What packhoused is told, and by whom.
//
// Every option has one name: --max-window on the command line is
// PACKHOUSE_MAX_WINDOW in the environment and max-window in the file that
// --config names. Where several give a value, the command line wins over the
// environment, that over the file, and that over the default.

#ifndef PACKHOUSE_SERVER_SETTINGS_H_
#define PACKHOUSE_SERVER_SETTINGS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "server/log.h"
#include "server/server.h"

namespace packhouse {

enum class Origin { kCommandLine, kEnvironment, kFile, kDefault };

// As the log writes it: "command line", "environment", "file", "default".
absl::string_view OriginName(Origin origin);

// The value of one option, as it was written; lists with commas.
struct Setting {
  std::string name;  // such as "max-window"
  std::string value;
  Origin origin = Origin::kDefault;
};

struct Settings {
  ServerOptions server;  // without its log
  Log::Format log_format = Log::Format::kText;
  double grace_seconds = 5;
  double idle_seconds = 3600;  // 0: never

  // All options, in the order of --help.
  std::vector<Setting> all;

  // Variables PACKHOUSE_* that are no option: mistyped, or somebody else's.
  std::vector<std::string> unknown_variables;

  // What --help or --version asked for; then it is to be printed, and there is
  // nothing else here.
  std::string answer;
};

// `args` are those behind the program's name, `environment` has NAME=VALUE. An
// empty variable is one that is not set; the options that may be given several
// times have their values separated by commas or newlines there.
//
// INVALID_ARGUMENT with the option, variable or file at fault. Whether the
// values go together is left to Server::Start.
absl::StatusOr<Settings> ReadSettings(
    std::vector<std::string> args, const std::vector<std::string>& environment);

}  // namespace packhouse

#endif  // PACKHOUSE_SERVER_SETTINGS_H_
