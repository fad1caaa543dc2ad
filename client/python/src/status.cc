#include "src/status.h"

#include <nanobind/nanobind.h>

#include <stdexcept>
#include <string>

namespace packhouse {

void Throw(const absl::Status& status) {
  const std::string text(status.message());
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      throw nanobind::value_error(text.c_str());
    case absl::StatusCode::kUnimplemented:
      PyErr_SetString(PyExc_NotImplementedError, text.c_str());
      throw nanobind::python_error();
    case absl::StatusCode::kResourceExhausted:
      PyErr_SetString(PyExc_MemoryError, text.c_str());
      throw nanobind::python_error();
    default:
      throw std::runtime_error(text);
  }
}

}  // namespace packhouse
