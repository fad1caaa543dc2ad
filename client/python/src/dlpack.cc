#include "src/dlpack.h"

#include <nanobind/stl/string.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "src/status.h"

namespace nb = nanobind;

namespace packhouse {
namespace {

// Takes what is in a capsule of this name out of it; null where it has another.
template <typename Managed>
Managed* TakeOut(const nb::object& capsule, const char* name,
                 const char* used_name) {
  if (!PyCapsule_IsValid(capsule.ptr(), name)) return nullptr;
  void* const managed = PyCapsule_GetPointer(capsule.ptr(), name);
  PyCapsule_SetName(capsule.ptr(), used_name);
  return static_cast<Managed*>(managed);
}

absl::StatusOr<SharedTensor> FromCapsule(const nb::object& capsule) {
  if (auto* managed = TakeOut<DlpackManagedVersioned>(
          capsule, "dltensor_versioned", "used_dltensor_versioned")) {
    return FromDlpack(DlpackVersionedPtr(managed));
  }
  if (auto* managed =
          TakeOut<DlpackManaged>(capsule, "dltensor", "used_dltensor")) {
    return FromDlpack(DlpackPtr(managed));
  }
  return absl::InvalidArgumentError("its __dlpack__ gives no tensor");
}

// Of makers that know versions the versioned generation, which alone says
// whether a tensor is read-only.
nb::object CapsuleOf(nb::handle object, const nb::object& stream) {
  const nb::object give = object.attr("__dlpack__");
  try {
    return give(nb::arg("stream") = stream,
                nb::arg("max_version") = nb::make_tuple(1, 0));
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
  }
  return give(nb::arg("stream") = stream);
}

// The number that DLPack has for a stream: 1 is the legacy default stream.
nb::object StreamNumber(nb::handle object, uintptr_t stream) {
  const nb::tuple device =
      nb::cast<nb::tuple>(object.attr("__dlpack_device__")());
  const int type = nb::cast<int>(device[0]);
  if (type != static_cast<int>(DeviceType::kCuda)) return nb::none();
  return nb::int_(stream == 0 ? uintptr_t{1} : stream);
}

}  // namespace

SharedTensor TensorFromPython(const char* name, nb::handle object,
                              uintptr_t stream) {
  if (!nb::hasattr(object, "__dlpack__")) {
    throw nb::type_error(
        absl::StrCat(name, " is of type ",
                     nb::cast<std::string>(nb::str(object.type())),
                     ", it must be an array or a tensor (with __dlpack__)")
            .c_str());
  }
  absl::StatusOr<SharedTensor> tensor =
      FromCapsule(CapsuleOf(object, StreamNumber(object, stream)));
  if (tensor.ok()) return *std::move(tensor);
  Throw(absl::Status(tensor.status().code(),
                     absl::StrCat(name, ": ", tensor.status().message())));
}

}  // namespace packhouse
