#include "packhouse/tensor.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace packhouse {
namespace {

struct DTypeInfo {
  absl::string_view name;
  int64_t bytes;
};

constexpr DTypeInfo kDTypes[] = {{"bool", 1},     {"uint8", 1},  {"uint16", 2},
                                 {"int32", 4},    {"int64", 8},  {"float16", 2},
                                 {"bfloat16", 2}, {"float32", 4}};

}  // namespace

absl::string_view DTypeName(DType dtype) {
  return kDTypes[static_cast<int>(dtype)].name;
}

absl::optional<DType> DTypeFromName(absl::string_view name) {
  for (size_t i = 0; i < std::size(kDTypes); ++i) {
    if (kDTypes[i].name == name) return static_cast<DType>(i);
  }
  return absl::nullopt;
}

int64_t DTypeBytes(DType dtype) {
  return kDTypes[static_cast<int>(dtype)].bytes;
}

std::string DeviceName(Device device) {
  switch (device.type) {
    case DeviceType::kCpu:
      return "cpu";
    case DeviceType::kCuda:
      return absl::StrCat("cuda:", device.index);
    case DeviceType::kCudaHost:
      return "cuda_host";
    case DeviceType::kCudaManaged:
      return absl::StrCat("cuda_managed:", device.index);
  }
  return absl::StrCat("device type ", static_cast<int32_t>(device.type));
}

int64_t Elements(const std::vector<int64_t>& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

std::string MisalignmentText(const Tensor& tensor) {
  const int64_t bytes = DTypeBytes(tensor.dtype);
  const uintptr_t address = reinterpret_cast<uintptr_t>(tensor.data);
  if (address % static_cast<uintptr_t>(bytes) == 0) return "";
  return absl::StrCat("its address ends in ", address % 16,
                      " (mod 16), elements of ", DTypeName(tensor.dtype),
                      " need a multiple of ", bytes);
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", "), "]");
}

}  // namespace packhouse
