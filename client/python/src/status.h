// From absl::Status to the exceptions of Python, in one place.

#ifndef PACKHOUSE_CLIENT_PYTHON_SRC_STATUS_H_
#define PACKHOUSE_CLIENT_PYTHON_SRC_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace packhouse {

// Throws what Python sees as ValueError (INVALID_ARGUMENT), NotImplementedError
// (UNIMPLEMENTED), MemoryError (RESOURCE_EXHAUSTED) or else RuntimeError, with
// the text of the status. Requires the GIL.
[[noreturn]] void Throw(const absl::Status& status);

inline void ThrowUnlessOk(const absl::Status& status) {
  if (!status.ok()) Throw(status);
}

template <typename T>
T ValueOrThrow(absl::StatusOr<T> value) {
  if (!value.ok()) Throw(value.status());
  return *std::move(value);
}

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_PYTHON_SRC_STATUS_H_
