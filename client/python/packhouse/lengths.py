"""Lengths of sequences, from whatever holds integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_MOST = 2**32 - 1

Lengths = npt.NDArray[np.uint32]


def as_lengths(lengths: npt.ArrayLike, name: str = "lengths") -> Lengths:
    """Returns `lengths` as a contiguous uint32 array [n].

    A contiguous uint32 array is not copied. Lists, `array.array`, tensors on
    the host and other integer arrays are, once.

    Raises:
        TypeError: They are not integers.
        ValueError: They have another number of dimensions than one, or one is
            below 0 or above 2**32 - 1; the first such is named.
    """
    array: npt.NDArray[Any] = np.asarray(lengths)
    if array.ndim == 0 and array.dtype.kind not in "iu":
        raise TypeError(
            f"{name} are of type {type(lengths).__name__}, they must be "
            "integers"
        )
    if array.ndim != 1:
        raise ValueError(
            f"{name} have {array.ndim} dimensions, they must have one"
        )
    if array.dtype == np.uint32:
        return np.ascontiguousarray(array)
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.dtype.kind not in "iu":
        raise TypeError(
            f"{name} are of type {array.dtype}, they must be integers"
        )
    if int(array.min()) < 0 or int(array.max()) > _MOST:
        wrong = np.flatnonzero((array < 0) | (array > _MOST))[0]
        raise ValueError(
            f"{name}[{wrong}] is {array[wrong]}, it must be from 0 to {_MOST}"
        )
    return array.astype(np.uint32)
