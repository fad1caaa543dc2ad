// The `packhouse` program, as a function of its arguments.

#ifndef PACKHOUSE_CLIENT_CLI_CLI_H_
#define PACKHOUSE_CLIENT_CLI_CLI_H_

#include <ostream>
#include <string>
#include <vector>

namespace packhouse {

// Runs the program with `args`, the program's name left out, and returns its
// exit code: 0 where all is well; 1 where a check does not hold or work that
// had started could not be finished; 2 for wrong usage and bad input, and then
// nothing was written to `out`. Errors are one line on `err`.
//
// A name of "-" stands for the process's own standard input or output.
int CliMain(std::vector<std::string> args, std::ostream& out,
            std::ostream& err);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_CLI_CLI_H_
