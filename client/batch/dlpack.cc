#include "packhouse/dlpack.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/optional.h"

namespace packhouse {
namespace {

// The binary interface of DLPack 1, where pointers have 64 bits.
static_assert(sizeof(void*) == 8 && sizeof(DlpackDevice) == 8 &&
              sizeof(DlpackDataType) == 4);
static_assert(offsetof(DlpackView, device) == 8 &&
              offsetof(DlpackView, dimensions) == 16 &&
              offsetof(DlpackView, dtype) == 20 &&
              offsetof(DlpackView, shape) == 24 &&
              offsetof(DlpackView, strides) == 32 &&
              offsetof(DlpackView, byte_offset) == 40 &&
              sizeof(DlpackView) == 48);
static_assert(offsetof(DlpackManaged, owner) == 48 &&
              offsetof(DlpackManaged, deleter) == 56 &&
              sizeof(DlpackManaged) == 64);
static_assert(offsetof(DlpackManagedVersioned, owner) == 8 &&
              offsetof(DlpackManagedVersioned, deleter) == 16 &&
              offsetof(DlpackManagedVersioned, flags) == 24 &&
              offsetof(DlpackManagedVersioned, view) == 32 &&
              sizeof(DlpackManagedVersioned) == 80);

// More than any array of Packhouse has, few enough for a short error.
constexpr int32_t kMaxDimensions = 16;

// Bytes from the first element to behind the last are at most this.
constexpr int64_t kMaxBytes = INT64_MAX / 2;

// What this library writes uses nothing that came later.
constexpr DlpackVersion kVersion = {kDlpackMajorVersion, 0};

struct TypeCode {
  DType dtype;
  uint8_t code;
  uint8_t bits;
};

constexpr TypeCode kTypeCodes[] = {
    {DType::kBool, 6, 8},      {DType::kUint8, 1, 8},
    {DType::kUint16, 1, 16},   {DType::kInt32, 0, 32},
    {DType::kInt64, 0, 64},    {DType::kFloat16, 2, 16},
    {DType::kBFloat16, 4, 16}, {DType::kFloat32, 2, 32}};

absl::Status Invalid(const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("DLPack tensor: ", what));
}

// -------------------------------------------------------------------- from --

absl::StatusOr<DType> TypeOf(DlpackDataType type) {
  for (const TypeCode& known : kTypeCodes) {
    if (known.code == type.code && known.bits == type.bits && type.lanes == 1) {
      return known.dtype;
    }
  }
  return Invalid(absl::StrCat(
      "its type has code ", int{type.code}, ", ", int{type.bits}, " bits and ",
      type.lanes,
      " lanes, it must be bool, uint8, uint16, int32, int64, float16, "
      "bfloat16 or float32, with 1 lane"));
}

absl::StatusOr<Device> DeviceOf(DlpackDevice device) {
  for (const DeviceType known :
       {DeviceType::kCpu, DeviceType::kCuda, DeviceType::kCudaHost,
        DeviceType::kCudaManaged}) {
    if (static_cast<int32_t>(known) != device.type) continue;
    return Device{known, device.index};
  }
  return Invalid(absl::StrCat(
      "it is on a device of type ", device.type,
      ", it must be 1 (cpu), 2 (cuda), 3 (cuda_host) or 13 (cuda_managed)"));
}

absl::StatusOr<std::vector<int64_t>> ShapeOf(const DlpackView& view,
                                             int64_t element_bytes) {
  if (view.dimensions < 0 || view.dimensions > kMaxDimensions) {
    return Invalid(absl::StrCat("it has ", view.dimensions,
                                " dimensions, it may have ", kMaxDimensions));
  }
  if (view.dimensions > 0 && view.shape == nullptr) {
    return Invalid(absl::StrCat("it has ", view.dimensions,
                                " dimensions, and its shape is null"));
  }
  std::vector<int64_t> shape(view.shape, view.shape + view.dimensions);
  // Also where another dimension is 0: products of some of them are needed.
  int64_t most = kMaxBytes / element_bytes;
  for (const int64_t size : shape) {
    if (size < 0 || size > most) {
      return Invalid(absl::StrCat("its shape is ", ShapeText(shape),
                                  ", sizes must be at least 0, and the bytes "
                                  "of all of it at most ",
                                  kMaxBytes));
    }
    if (size > 0) most /= size;
  }
  return shape;
}

// The pitch of rows whose elements stand side by side, or 0 where the rows do
// too; absent where strides are none of a Tensor.
absl::optional<int64_t> PitchOf(const std::vector<int64_t>& shape,
                                const int64_t* strides, int64_t element_bytes) {
  if (strides == nullptr || shape.empty() || Elements(shape) == 0) return 0;
  const size_t last = shape.size() - 1;
  if (shape[last] > 1 && strides[last] != 1) return absl::nullopt;
  int64_t pitch = 0;
  int64_t expected = 0;  // stride of dimension d, once there is a pitch
  for (size_t d = last; d-- > 0;) {
    if (shape[d] == 1) continue;
    if (pitch == 0) {
      pitch = strides[d];
      expected = pitch;
      const int64_t lines = Elements(shape) / shape[last];
      const int64_t most = kMaxBytes / element_bytes / lines;
      if (pitch < shape[last] || pitch > most) return absl::nullopt;
    }
    if (strides[d] != expected) return absl::nullopt;
    expected *= shape[d];
  }
  return pitch == shape[last] ? 0 : pitch;
}

absl::Status StridesError(const std::vector<int64_t>& shape,
                          const int64_t* strides) {
  return Invalid(absl::StrCat(
      "its shape is ", ShapeText(shape), " with strides ",
      ShapeText({strides, strides + shape.size()}),
      ", it must be row-major and compact, but for a pitch of its last "
      "dimension"));
}

absl::StatusOr<Tensor> TensorOf(const DlpackView& view, bool read_only) {
  const absl::StatusOr<DType> dtype = TypeOf(view.dtype);
  if (!dtype.ok()) return dtype.status();
  const absl::StatusOr<Device> device = DeviceOf(view.device);
  if (!device.ok()) return device.status();
  const int64_t bytes = DTypeBytes(*dtype);
  absl::StatusOr<std::vector<int64_t>> shape = ShapeOf(view, bytes);
  if (!shape.ok()) return shape.status();
  const absl::optional<int64_t> pitch = PitchOf(*shape, view.strides, bytes);
  if (!pitch.has_value()) return StridesError(*shape, view.strides);

  Tensor tensor;
  tensor.dtype = *dtype;
  tensor.pitch = *pitch;
  tensor.device = *device;
  tensor.read_only = read_only;
  const bool empty = Elements(*shape) == 0;
  tensor.shape = *std::move(shape);
  // Without elements the address may be anything.
  if (empty) return tensor;
  if (view.data == nullptr) {
    return Invalid(
        absl::StrCat("its data is null, its shape ", ShapeText(tensor.shape)));
  }
  tensor.data = static_cast<char*>(view.data) + view.byte_offset;
  const std::string misaligned = MisalignmentText(tensor);
  if (!misaligned.empty()) return Invalid(misaligned);
  return tensor;
}

template <typename Managed>
absl::StatusOr<SharedTensor> Shared(
    std::unique_ptr<Managed, DlpackDeleter> managed, bool read_only) {
  absl::StatusOr<Tensor> tensor = TensorOf(managed->view, read_only);
  if (!tensor.ok()) return tensor.status();
  return SharedTensor{*std::move(tensor), std::move(managed)};
}

// ---------------------------------------------------------------------- to --

// All that a tensor of DLPack points to.
template <typename Managed>
struct Exported {
  Managed managed = {};
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::shared_ptr<void> owner;
};

// Strides of a row-major tensor.
std::vector<int64_t> StridesOf(const Tensor& tensor) {
  std::vector<int64_t> strides(tensor.shape.size());
  int64_t stride = 1;
  for (size_t d = strides.size(); d-- > 0;) {
    strides[d] = stride;
    const bool last = d + 1 == strides.size();
    stride *= last && tensor.pitch != 0 ? tensor.pitch : tensor.shape[d];
  }
  return strides;
}

DlpackDataType TypeOf(DType dtype) {
  for (const TypeCode& known : kTypeCodes) {
    if (known.dtype == dtype) return {known.code, known.bits, 1};
  }
  return {};
}

template <typename Managed>
std::unique_ptr<Managed, DlpackDeleter> Export(const SharedTensor& shared) {
  const Tensor& tensor = shared.tensor;
  auto exported = std::make_unique<Exported<Managed>>();
  exported->shape = tensor.shape;
  exported->strides = StridesOf(tensor);
  exported->owner = shared.owner;

  Managed& managed = exported->managed;
  managed.owner = exported.get();
  managed.deleter = [](Managed* self) {
    delete static_cast<Exported<Managed>*>(self->owner);
  };
  DlpackView& view = managed.view;
  view.data = Elements(tensor.shape) == 0 ? nullptr : tensor.data;
  view.device = {static_cast<int32_t>(tensor.device.type), tensor.device.index};
  view.dimensions = static_cast<int32_t>(tensor.shape.size());
  view.dtype = TypeOf(tensor.dtype);
  view.shape = exported->shape.data();
  view.strides = exported->strides.data();
  return std::unique_ptr<Managed, DlpackDeleter>(&exported.release()->managed);
}

}  // namespace

absl::StatusOr<SharedTensor> FromDlpack(DlpackPtr managed) {
  if (managed == nullptr) return Invalid("it is null");
  return Shared(std::move(managed), /*read_only=*/false);
}

absl::StatusOr<SharedTensor> FromDlpack(DlpackVersionedPtr managed) {
  if (managed == nullptr) return Invalid("it is null");
  const DlpackVersion version = managed->version;
  if (version.major != kDlpackMajorVersion) {
    return Invalid(absl::StrCat("it is of version ", version.major, ".",
                                version.minor, ", it must be ",
                                kDlpackMajorVersion, ".x"));
  }
  const bool read_only = (managed->flags & kDlpackReadOnly) != 0;
  return Shared(std::move(managed), read_only);
}

absl::StatusOr<DlpackPtr> ToDlpack(const SharedTensor& shared) {
  if (shared.tensor.read_only) {
    return Invalid("it is read-only, only the versioned generation says so");
  }
  return Export<DlpackManaged>(shared);
}

DlpackVersionedPtr ToDlpackVersioned(const SharedTensor& shared) {
  DlpackVersionedPtr managed = Export<DlpackManagedVersioned>(shared);
  managed->version = kVersion;
  managed->flags = shared.tensor.read_only ? kDlpackReadOnly : 0;
  return managed;
}

}  // namespace packhouse
