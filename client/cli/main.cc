#include <csignal>
#include <iostream>
#include <string>
#include <vector>

#include "client/cli/cli.h"

int main(int argc, char** argv) {
  // A reader that goes away is an error of the write, not the end of us.
  std::signal(SIGPIPE, SIG_IGN);
  std::ios::sync_with_stdio(false);
  return packhouse::CliMain(std::vector<std::string>(argv + 1, argv + argc),
                            std::cout, std::cerr);
}
