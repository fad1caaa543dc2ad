// Tensors of any library of Python, where they lie.

#ifndef PACKHOUSE_CLIENT_PYTHON_SRC_DLPACK_H_
#define PACKHOUSE_CLIENT_PYTHON_SRC_DLPACK_H_

#include <nanobind/nanobind.h>

#include <cstdint>

#include "packhouse/dlpack.h"

namespace packhouse {

// The tensor of an object with __dlpack__, of either generation. Its maker
// makes `stream`, a cudaStream_t, wait for the work on it, where it is of a
// CUDA device. Throws ValueError as FromDlpack, with `name` in front, TypeError
// where the object has no __dlpack__.
SharedTensor TensorFromPython(const char* name, nanobind::handle object,
                              uintptr_t stream);

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_PYTHON_SRC_DLPACK_H_
