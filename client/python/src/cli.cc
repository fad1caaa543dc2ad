#include "client/cli/cli.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <csignal>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "src/module.h"

namespace nb = nanobind;

namespace packhouse {
namespace {

int RunCli(std::vector<std::string> arguments) {
  nb::gil_scoped_release release;
  // As in the program: a reader that goes away is an error of the write, and
  // Ctrl-C ends it at once, whatever Python would do.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGINT, SIG_DFL);
  const int code = CliMain(std::move(arguments), std::cout, std::cerr);
  std::cout.flush();
  return code;
}

}  // namespace

void AddCli(nb::module_& module) {
  module.def("run_cli", &RunCli, nb::arg("arguments"));
}

}  // namespace packhouse
