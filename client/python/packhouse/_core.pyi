"""The extension: the C++ library with numpy arrays for spans."""

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_U32: TypeAlias = npt.NDArray[np.uint32]
_U64: TypeAlias = npt.NDArray[np.uint64]
_Columns: TypeAlias = tuple[_U64, _U64, _U32 | None]

class PackSpec:
    def __init__(
        self,
        capacity_tokens: int,
        algorithm: str,
        window: int,
        max_sequences: int,
        alignment: int,
        overlong: str,
        empty: str,
        seed: int | None,
        effort: str,
        max_displacement: int,
        budget: float,
    ) -> None: ...

def algorithm_names() -> list[str]: ...
def is_online(name: str) -> bool: ...
def plan(lengths: _U32, spec: PackSpec) -> tuple[_Columns, dict[str, Any]]: ...
def verify(
    lengths: _U32,
    spec: PackSpec,
    ordinals: _U64,
    offsets: _U64,
    source_offsets: _U32 | None,
) -> None: ...
def unit_lengths(
    lengths: _U32,
    spec: PackSpec,
    first_ordinal: int,
    ordinals: _U64,
    source_offsets: _U32 | None,
) -> _U32: ...
def unit_counts(lengths: _U32, spec: PackSpec) -> _U32: ...
def lower_bound_packs(lengths: _U32, spec: PackSpec) -> int: ...

class Packer:
    def __init__(self, spec: PackSpec, state: bytes = ...) -> None: ...
    def add(self, lengths: _U32) -> _Columns: ...
    def flush(self) -> _Columns: ...
    def finish(self) -> _Columns: ...
    def save(self) -> bytes: ...
    @property
    def sequences(self) -> int: ...
    @property
    def pending_units(self) -> int: ...
    @property
    def oldest_pending_ordinal(self) -> int: ...

class Layout:
    def __init__(
        self,
        row_tokens: int,
        lengths: _U32,
        offsets: _U64,
        origins: _U32 | None,
        pad_mode: str,
        alignment: int,
        trim_multiple: int,
        flat: bool,
    ) -> None: ...
    @property
    def rows(self) -> int: ...
    @property
    def row_tokens(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def packs(self) -> int: ...
    @property
    def sequences(self) -> int: ...
    @property
    def sequence_tokens(self) -> int: ...
    @property
    def max_sequence(self) -> int: ...
    @property
    def segments(self) -> int: ...
    @property
    def attended_tokens(self) -> int: ...
    @property
    def max_segment(self) -> int: ...
    @property
    def max_slot(self) -> int: ...
    @property
    def max_position(self) -> int: ...
    def sequence_begins(self) -> npt.NDArray[np.int64]: ...

def format_names() -> list[str]: ...
def shape_of(
    name: str, layout: Layout, options: dict[str, Any]
) -> tuple[list[str], list[int]]: ...
def fill(
    layout: Layout,
    options: dict[str, Any],
    tokens: Any,
    labels: Any,
    outputs: dict[str, Any],
    threads: int,
    stream: int,
) -> None: ...
