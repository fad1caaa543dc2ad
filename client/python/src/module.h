// What each file adds to the module packhouse._core.

#ifndef PACKHOUSE_CLIENT_PYTHON_SRC_MODULE_H_
#define PACKHOUSE_CLIENT_PYTHON_SRC_MODULE_H_

#include <nanobind/nanobind.h>

namespace packhouse {

// Specs, plans, packers, and what can be said of packs.
void AddPacking(nanobind::module_& module);

// The command line, as a function of its arguments.
void AddCli(nanobind::module_& module);

// The client's end of a stream, without a transport.
void AddSession(nanobind::module_& module);

// Where sequences lie in a batch, and formats of it.
void AddMasks(nanobind::module_& module);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_PYTHON_SRC_MODULE_H_
