// The extension of the Python package: the C++ library as it is, with numpy
// arrays for spans and exceptions for statuses. What users call is written in
// Python, over this.

#include "src/module.h"

NB_MODULE(_core, module) {
  // Interpreters end with objects alive as they like; that is no leak of ours.
  nanobind::set_leak_warnings(false);
  packhouse::AddPacking(module);
  packhouse::AddMasks(module);
  packhouse::AddSession(module);
  packhouse::AddCli(module);
}
