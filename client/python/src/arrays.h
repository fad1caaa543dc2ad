// numpy arrays in and out, without a copy.

#ifndef PACKHOUSE_CLIENT_PYTHON_SRC_ARRAYS_H_
#define PACKHOUSE_CLIENT_PYTHON_SRC_ARRAYS_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "absl/types/span.h"

namespace packhouse {

// What Python calls np.ndarray: one dimension, contiguous, of this type.
template <typename T>
using ArrayIn = nanobind::ndarray<const T, nanobind::ndim<1>,
                                  nanobind::c_contig, nanobind::device::cpu>;
template <typename T>
using ArrayOut = nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<1>>;

template <typename T>
absl::Span<const T> SpanOf(const ArrayIn<T>& array) {
  return absl::MakeConstSpan(array.data(), array.size());
}

// An array that owns the memory of the vector.
template <typename T>
ArrayOut<T> ArrayOf(std::vector<T> values) {
  auto* const owned = new std::vector<T>(std::move(values));
  nanobind::capsule owner(owned, [](void* memory) noexcept {
    delete static_cast<std::vector<T>*>(memory);
  });
  return ArrayOut<T>(owned->data(), {owned->size()}, owner);
}

}  // namespace packhouse

#endif  // PACKHOUSE_CLIENT_PYTHON_SRC_ARRAYS_H_
