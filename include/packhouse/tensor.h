// A view of a tensor that somebody else owns: what a buffer of numpy, PyTorch,
// JAX or plain C++ looks like from here.

#ifndef PACKHOUSE_TENSOR_H_
#define PACKHOUSE_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/optional.h"

namespace packhouse {

enum class DType : uint8_t {
  kBool,  // a byte, 0 or 1
  kUint8,
  kUint16,
  kInt32,
  kInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
};

// "bool", "uint8", "uint16", "int32", "int64", "float16", "bfloat16",
// "float32".
absl::string_view DTypeName(DType dtype);
absl::optional<DType> DTypeFromName(absl::string_view name);
int64_t DTypeBytes(DType dtype);

// With the numbers of DLPack.
enum class DeviceType : int32_t {
  kCpu = 1,
  kCuda = 2,
  kCudaHost = 3,      // pinned memory of the host
  kCudaManaged = 13,  // either side may use it
};

struct Device {
  DeviceType type = DeviceType::kCpu;
  int32_t index = 0;

  bool on_host() const {
    return type == DeviceType::kCpu || type == DeviceType::kCudaHost ||
           type == DeviceType::kCudaManaged;
  }
  bool on_cuda() const {
    return type == DeviceType::kCuda || type == DeviceType::kCudaManaged;
  }
};

// "cpu", "cuda:1".
std::string DeviceName(Device device);

// Row-major and compact, but for a pitch.
struct Tensor {
  void* data = nullptr;  // of an element's alignment, where there is an element
  DType dtype = DType::kInt32;
  std::vector<int64_t> shape;
  // Elements from one run of the last dimension to the next, at least as many
  // as it has; 0 where the tensor is compact. Only dense masks may have
  // another.
  int64_t pitch = 0;
  Device device;
  bool read_only = false;
};

// A compact tensor in memory of the host, of a type that C++ may not have, such
// as DType::kBFloat16.
inline Tensor HostTensor(void* data, DType dtype, std::vector<int64_t> shape) {
  Tensor tensor;
  tensor.data = data;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  return tensor;
}

// The same, read-only where T is const. T is bool, uint8_t, uint16_t, int32_t,
// int64_t or float.
template <typename T>
Tensor HostTensor(T* data, std::vector<int64_t> shape) {
  using Element = std::remove_const_t<T>;
  Tensor tensor;
  tensor.data = const_cast<Element*>(data);
  tensor.read_only = std::is_const_v<T>;
  tensor.shape = std::move(shape);
  if constexpr (std::is_same_v<Element, bool>) {
    tensor.dtype = DType::kBool;
  } else if constexpr (std::is_same_v<Element, uint8_t>) {
    tensor.dtype = DType::kUint8;
  } else if constexpr (std::is_same_v<Element, uint16_t>) {
    tensor.dtype = DType::kUint16;
  } else if constexpr (std::is_same_v<Element, int32_t>) {
    tensor.dtype = DType::kInt32;
  } else if constexpr (std::is_same_v<Element, int64_t>) {
    tensor.dtype = DType::kInt64;
  } else {
    static_assert(std::is_same_v<Element, float>,
                  "no element type of a tensor");
    tensor.dtype = DType::kFloat32;
  }
  return tensor;
}

// Product of the dimensions; 1 where there is none. Requires that it fits.
int64_t Elements(const std::vector<int64_t>& shape);

// What is wrong with an address that is no multiple of an element's size, for
// an error; empty where it is one.
std::string MisalignmentText(const Tensor& tensor);

// "[2, 1, 12, 12]".
std::string ShapeText(const std::vector<int64_t>& shape);

}  // namespace packhouse

#endif  // PACKHOUSE_TENSOR_H_
