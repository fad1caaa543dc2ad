"""Tensors that pass between Packhouse and numpy and PyTorch, which own and
delete them by their own rules. Needs numpy, and for some torch:
`scripts/test --torch`."""

import ctypes
import sys

import pytest

from conftest import BIN

numpy = pytest.importorskip(
    "numpy", reason="no numpy; scripts/test --torch installs it")

LIBRARY = BIN / "dlpack_python.so"
if not LIBRARY.exists():
    pytest.skip("a build with sanitizers has no dlpack_python",
                allow_module_level=True)

packhouse = ctypes.CDLL(str(LIBRARY))
packhouse.FillPositions.argtypes = [
    ctypes.c_void_p, ctypes.c_bool, ctypes.c_char_p, ctypes.c_uint64]
packhouse.FillPositions.restype = None
packhouse.GiveMask.argtypes = [ctypes.c_bool, ctypes.c_int64, ctypes.c_int64]
packhouse.GiveMask.restype = ctypes.c_void_p

python = ctypes.pythonapi
python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_GetPointer.restype = ctypes.c_void_p
python.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
python.PyCapsule_New.argtypes = [
    ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
python.PyCapsule_New.restype = ctypes.py_object

# Names live as long as capsules do.
NAMES = {False: b"dltensor", True: b"dltensor_versioned"}
USED_NAMES = {False: b"used_dltensor", True: b"used_dltensor_versioned"}
GENERATIONS = pytest.mark.parametrize("versioned", [False, True])


def fill_positions(tensor, versioned):
    """What is wrong, or an empty text where the tensor has positions now."""
    capsule = (tensor.__dlpack__(max_version=(1, 0)) if versioned
               else tensor.__dlpack__())
    pointer = python.PyCapsule_GetPointer(capsule, NAMES[versioned])
    python.PyCapsule_SetName(capsule, USED_NAMES[versioned])
    error = ctypes.create_string_buffer(2048)
    packhouse.FillPositions(pointer, versioned, error, len(error))
    return error.value.decode()


class Mask:
    """What from_dlpack asks for a tensor."""

    def __init__(self, tokens, pitch, versioned):
        self.arguments = versioned, tokens, pitch

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None,
                   copy=None):
        versioned = self.arguments[0]
        pointer = packhouse.GiveMask(*self.arguments)
        return python.PyCapsule_New(pointer, NAMES[versioned], None)


@GENERATIONS
@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_numpy_array_is_filled(versioned, dtype):
    array = numpy.full((2, 4), 9, dtype)
    references = sys.getrefcount(array)
    assert fill_positions(array, versioned) == ""
    assert array.tolist() == [[0, 1, 2, 0]] * 2
    assert sys.getrefcount(array) == references


@GENERATIONS
@pytest.mark.parametrize("make, words", [
    (lambda: numpy.zeros((2, 8), "int64")[:, ::2], ["strides [8, 2]"]),
    (lambda: numpy.zeros((4, 2), "int64").T, ["strides [1, 2]"]),
    (lambda: numpy.zeros((2, 8), "int64")[:, :4], ["pitch is 8", "compact: 4"]),
    (lambda: numpy.zeros((2, 4), "float64"), ["64 bits"]),
    (lambda: numpy.zeros((2, 4), "complex64"), ["code 5"]),
    (lambda: numpy.zeros((2, 4), "float32"), ["float32", "int64 or int32"]),
])
def test_numpy_array_that_is_no_output(versioned, make, words):
    array = make()
    references = sys.getrefcount(array)
    error = fill_positions(array, versioned)
    for word in words:
        assert word in error
    assert not array.any()
    assert sys.getrefcount(array) == references


def test_read_only_numpy_array():
    array = numpy.zeros((2, 4), "int64")
    array.flags.writeable = False
    references = sys.getrefcount(array)
    assert "read-only" in fill_positions(array, versioned=True)
    assert not array.any()
    assert sys.getrefcount(array) == references


@GENERATIONS
@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("pitch", [3, 16])
def test_mask_is_given(library, versioned, pitch):
    module = pytest.importorskip(library)
    assert packhouse.LivingMasks() == 0
    tensor = module.from_dlpack(Mask(3, pitch, versioned))
    assert packhouse.LivingMasks() == 1
    no = float("-inf")
    assert tensor.tolist() == [[[[0, no, no], [0, 0, no], [no, no, 0]]]]
    strides = (tensor.stride() if library == "torch" else
               [stride // 4 for stride in tensor.strides])
    assert list(strides[2:]) == [pitch, 1]
    view = tensor[0]
    del tensor
    assert packhouse.LivingMasks() == 1
    del view
    assert packhouse.LivingMasks() == 0


@GENERATIONS
def test_torch_tensor_is_filled(versioned):
    torch = pytest.importorskip("torch")
    tensor = torch.full((2, 4), 9)
    assert fill_positions(tensor, versioned) == ""
    assert tensor.tolist() == [[0, 1, 2, 0]] * 2
    assert "strides [1, 2]" in fill_positions(torch.zeros(4, 2).T, versioned)
