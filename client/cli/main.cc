#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "client/cli/cli.h"

int main(int argc, char** argv) {
  // A reader that goes away is an error of the write, not the end of us.
  std::signal(SIGPIPE, SIG_IGN);
  // An error is one line of ours; who wants those of gRPC asks for them.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  std::ios::sync_with_stdio(false);
  return packhouse::CliMain(std::vector<std::string>(argv + 1, argv + argc),
                            std::cout, std::cerr);
}
