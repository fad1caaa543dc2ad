// The command line as the tests run it, in this process.

#ifndef PACKHOUSE_TESTS_CLI_RUN_H_
#define PACKHOUSE_TESTS_CLI_RUN_H_

#include <sstream>
#include <string>
#include <vector>

#include "client/cli/cli.h"
#include "gmock/gmock.h"

namespace packhouse {

struct Result {
  int code;
  std::string out;
  std::string err;
};

inline Result Packhouse(const std::vector<std::string>& args) {
  std::ostringstream out;
  std::ostringstream err;
  const int code = CliMain(args, out, err);
  return {code, out.str(), err.str()};
}

// Failed with this code, nothing on the output and one short line that says so.
MATCHER_P2(Refused, code, text, "") {
  *result_listener << "code " << arg.code << ", out " << arg.out << ", err "
                   << arg.err.substr(0, 4000) << " ";
  return arg.code == code && arg.out.empty() && arg.err.size() < 2048 &&
         arg.err.find('\n') == arg.err.size() - 1 &&
         arg.err.rfind("packhouse: ", 0) == 0 &&
         testing::ExplainMatchResult(text, arg.err, result_listener);
}

}  // namespace packhouse

#endif  // PACKHOUSE_TESTS_CLI_RUN_H_
