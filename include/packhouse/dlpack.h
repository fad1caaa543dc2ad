// Tensors that pass between libraries without a copy: DLPack, the protocol that
// numpy, PyTorch, JAX, CuPy and others speak.
//
//   // `managed` came from the library that made the tensor.
//   absl::StatusOr<SharedTensor> positions =
//       FromDlpack(DlpackVersionedPtr(managed));
//   Fill(layout, options, sources, {{Format::kPositionIds,
//   positions->tensor}});
//
//   // Goes to the library that will use the tensor.
//   absl::StatusOr<DlpackVersionedPtr> exported = ToDlpackVersioned(
//       {HostTensor(memory->data(), {2, 12}), /*owner=*/memory});
//   return exported->release();
//
// There are two generations: the old one, DLManagedTensor, in a Python capsule
// named "dltensor", and the versioned one since DLPack 1.0,
// DLManagedTensorVersioned, in one named "dltensor_versioned". Take both; give
// the versioned one to who asks for max_version (1, 0) or later, and the old
// one to all others. Who has taken a tensor out of a capsule renames it to
// "used_dltensor" or "used_dltensor_versioned", before it calls FromDlpack:
// from then on the tensor is no longer the capsule's to delete.
//
// Streams. A DLPack tensor has no stream, and nothing here waits for one. Who
// asks for a tensor of a CUDA device names the stream that will use it, the one
// that FillOnCuda is to be called with (in Python, of __dlpack__: 1 is the
// legacy default stream, 2 that of the thread, None means 1, -1 no stream at
// all), and the maker makes that stream wait for its own work. Who gives one
// away has to do the same: launch on the stream that it was asked for, or make
// that one wait. Tensors of the host have no stream: what they hold is there
// when they are given.
//
// Ends. A deleter is called exactly once, on whichever thread lets go last, and
// without the lock of a Python interpreter: one that needs it has to take it.
// Work of a CUDA stream may still use the memory then: an owner that frees it
// has to do so behind that work, as with cudaFreeAsync.

#ifndef PACKHOUSE_DLPACK_H_
#define PACKHOUSE_DLPACK_H_

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "packhouse/tensor.h"

namespace packhouse {

// ------------------------------------------------- what DLPack lays down ----

// These have the layout, not the names, of the structs of DLPack, whose header
// may be included beside this one: a pointer to one is reinterpreted.

struct DlpackDevice {
  int32_t type;  // as DeviceType
  int32_t index;
};

struct DlpackDataType {
  uint8_t code;  // 0 int, 1 uint, 2 float, 4 bfloat, 6 bool; others not here
  uint8_t bits;
  uint16_t lanes;
};

struct DlpackView {  // DLTensor
  void* data;
  DlpackDevice device;
  int32_t dimensions;
  DlpackDataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: compact, row-major
  uint64_t byte_offset;
};

struct DlpackManaged {  // DLManagedTensor
  DlpackView view;
  void* owner;
  void (*deleter)(DlpackManaged* self);  // null: there is nothing to do
};

struct DlpackVersion {
  uint32_t major;
  uint32_t minor;
};

struct DlpackManagedVersioned {  // DLManagedTensorVersioned
  DlpackVersion version;
  void* owner;
  void (*deleter)(DlpackManagedVersioned* self);
  uint64_t flags;
  DlpackView view;
};

// What of it is the same in every major version: the fields up to `deleter`.
inline constexpr uint32_t kDlpackMajorVersion = 1;
inline constexpr uint64_t kDlpackReadOnly = 1;  // a flag

// ------------------------------------------------------------- ownership ----

struct DlpackDeleter {
  template <typename Managed>
  void operator()(Managed* managed) const {
    if (managed->deleter != nullptr) managed->deleter(managed);
  }
};

// Own a tensor of either generation: deleted once, unless it is released.
using DlpackPtr = std::unique_ptr<DlpackManaged, DlpackDeleter>;
using DlpackVersionedPtr =
    std::unique_ptr<DlpackManagedVersioned, DlpackDeleter>;

// A tensor, and what keeps its memory: as long as a copy of `owner` is there.
struct SharedTensor {
  Tensor tensor;
  std::shared_ptr<void> owner;
};

// The tensor, and as its owner `managed`, which is deleted when the last copy
// of the owner goes, or at once where this is an error.
//
// INVALID_ARGUMENT, naming what it has and what it needs, where a Tensor cannot
// be such: another major version, a null pointer, a device other than those of
// DeviceType, an element type other than those of DType (several lanes and
// parts of a byte among them), an address that is no multiple of an element's
// bytes, strides that are not compact and row-major but for a pitch (those of
// dimensions of 1, and of tensors without elements, are of no account). A
// versioned tensor with the flag is read-only; an old one cannot say so.
absl::StatusOr<SharedTensor> FromDlpack(DlpackPtr managed);
absl::StatusOr<SharedTensor> FromDlpack(DlpackVersionedPtr managed);

// A tensor to give away. Its deleter lets go of `shared.owner`, which may be
// null where the memory outlives every use of it; an owner that is not an
// object of its own is std::shared_ptr<void>(memory, &MyDelete).
//
// INVALID_ARGUMENT where a read-only tensor is to be of the old generation,
// which has no word for it.
absl::StatusOr<DlpackPtr> ToDlpack(const SharedTensor& shared);
DlpackVersionedPtr ToDlpackVersioned(const SharedTensor& shared);

}  // namespace packhouse

#endif  // PACKHOUSE_DLPACK_H_
