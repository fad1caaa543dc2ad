"""Everything that a training stack may want to know of a packed batch.

A *format* is one array, such as "position_ids" or "cu_seqlens"; docs/formats.md
says what each is and which consumer takes which.

    layout = masks.layout([[5, 3], [12]], 12)
    arrays = masks.fill(layout, ["position_ids", "cu_seqlens"])

Arrays are numpy's, or whatever tensors the caller gives to be written: of
numpy, PyTorch or JAX, through DLPack, on the host or a CUDA device.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import numpy.typing as npt

from packhouse import _core
from packhouse._core import Layout
from packhouse.lengths import Lengths, as_lengths

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["FORMATS", "Layout", "Options", "fill", "layout", "shape_of"]

FORMATS: tuple[str, ...] = tuple(_core.format_names())
"""The names of all formats."""

_NUMPY = {"bfloat16": np.dtype(np.uint16)}


class Options(TypedDict, total=False):
    """What a format may depend on; docs/formats.md says which does on what.

    Attributes:
        mask: "document", "causal" (the default), "causal_window" or
            "symmetric_window".
        window: Tokens, of the last two.
        label_shift: "by_model" (the default), "shifted" or "none".
        pad_id: Token of padding, 0.
        ignore_id: Label where there is nothing to learn, -100.
        source_ignore_id: Which source labels say so, -100.
        position_start: Position of the first token of a segment, 0.
        block_size: (queries, keys) of a block, (128, 128).
        edge_full: Whether blocks that the edge cuts may be full.
        dq_kv_order: Of dq_write_order: the last block of keys first.
        true_attends: Of dense masks of bool; else true is masked.
        minus_infinity: Of additive dense masks; else the lowest number.
        empty_rows: Whether a token may attend nothing in a dense mask.
        cp_ranks: Context-parallel ranks, 1.
        chunk_tokens: Tokens of a chunk, 64.
        ragged_stride: Elements of a token in ragged_offsets, 1.
        max_segments: Entries that arrays of segments have; 0: as needed.
        row_width: Entries that arrays of rows have; 0: as needed.
        row_fill: "last" or "minus_one", behind the last of a row.
    """

    mask: str
    window: int
    label_shift: str
    pad_id: int
    ignore_id: int
    source_ignore_id: int
    position_start: int
    block_size: tuple[int, int]
    edge_full: bool
    dq_kv_order: bool
    true_attends: bool
    minus_infinity: bool
    empty_rows: bool
    cp_ranks: int
    chunk_tokens: int
    ragged_stride: int
    max_segments: int
    row_width: int
    row_fill: str


def layout(
    rows: Sequence[npt.ArrayLike],
    row_tokens: int,
    *,
    origins: npt.ArrayLike | None = None,
    pad_mode: str = "segment",
    alignment: int = 1,
    trim_multiple: int = 1,
    flat: bool = False,
) -> Layout:
    """Places sequences, and the padding behind them, in a batch.

    Args:
        rows: The lengths of the sequences in each row, in tokens. A row
            without any is a filler.
        row_tokens: Tokens of a row.
        origins: Positions of the first tokens, one for each sequence, where
            they are to go on in the pieces of a split sequence.
        pad_mode: What padding is to attention: "segment", "trim", "masked",
            "singletons", "merge_last" or "slots" (docs/formats.md, "Padding").
        alignment: Sequences begin at multiples of it.
        trim_multiple: Of "trim": the row is filled up to a multiple of it.
        flat: Whether the rows are looked at as one.

    Returns:
        The layout, whose numbers are plain ints: `rows`, `row_tokens`,
        `segments`, `max_segment`, ...

    Raises:
        ValueError: A row does not fit, a length is 0, or a setting is out of
            its range; with the value and the limit.
    """
    parts = [as_lengths(row, f"rows[{i}]") for i, row in enumerate(rows)]
    offsets = np.zeros(len(parts) + 1, np.uint64)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    lengths: Lengths = (
        np.concatenate(parts) if parts else np.empty(0, np.uint32)
    )
    return Layout(
        row_tokens,
        lengths,
        offsets,
        None if origins is None else as_lengths(origins, "origins"),
        pad_mode,
        alignment,
        trim_multiple,
        flat,
    )


def shape_of(
    name: str, of: Layout, **options: Unpack[Options]
) -> tuple[tuple[int, ...], str]:
    """The shape of a format, and the usual type of its elements.

    Raises:
        ValueError: There is no such format, or an option it depends on is out
            of its range.
    """
    dtypes, shape = _core.shape_of(name, of, dict(options))
    return tuple(shape), dtypes[0]


def fill(
    of: Layout,
    formats: Iterable[str] | Mapping[str, Any],
    *,
    tokens: Any = None,
    labels: Any = None,
    threads: int = 1,
    stream: int = 0,
    **options: Unpack[Options],
) -> dict[str, Any]:
    """Makes formats of a batch.

    Args:
        of: Where its sequences lie.
        formats: Their names, for new numpy arrays of the usual types; or a
            mapping of names to the tensors that are to be written, of numpy,
            PyTorch or any other library that speaks DLPack, contiguous, of the
            shape that `shape_of` says.
        tokens: uint16, int32 or int64 [T], of all sequences one after another;
            "input_ids" needs them.
        labels: Likewise; `tokens` if None.
        threads: Up to so many, of the host.
        stream: Of tensors on a CUDA device: the cudaStream_t that kernels are
            launched on, as `torch.cuda.current_stream().cuda_stream`. Nothing
            waits for it.
        options: See `Options`.

    Returns:
        The arrays or tensors by the names of their formats.

    Raises:
        ValueError: A tensor has another shape, type, device or alignment, is
            read-only, or an option is out of its range. Nothing is written.
        TypeError: Something is no tensor, or there is no such option.
        NotImplementedError: Tensors are on a CUDA device and this build has no
            kernels.
        RuntimeError: Tensors are on a CUDA device in a forked process.
    """
    given = dict(options)
    if isinstance(formats, Mapping):
        outputs = dict(formats)
    else:
        outputs = {name: _new_array(name, of, given) for name in formats}
    _refuse_cuda_after_fork([tokens, labels, *outputs.values()])
    _core.fill(
        of, given, _source(tokens), _source(labels), outputs, threads, stream
    )
    return outputs


def _new_array(
    name: str, of: Layout, options: dict[str, Any]
) -> npt.NDArray[Any]:
    dtypes, shape = _core.shape_of(name, of, options)
    return np.empty(shape, _NUMPY.get(dtypes[0], dtypes[0]))


def _source(tensor: Any) -> Any:
    """A tensor that can be read where it lies, or a copy that can."""
    if tensor is None or not isinstance(tensor, (np.ndarray, list, tuple)):
        return tensor
    array = np.ascontiguousarray(tensor)
    # numpy before 2.1 gives no array away that is read-only.
    old = np.lib.NumpyVersion(np.__version__) < "2.1.0"
    return array.copy() if old and not array.flags.writeable else array


def _refuse_cuda_after_fork(tensors: list[Any]) -> None:
    """CUDA does not survive a fork: say so before it fails by itself."""
    torch = sys.modules.get("torch")
    if torch is None or not any(
        getattr(getattr(tensor, "device", None), "type", "") == "cuda"
        for tensor in tensors
    ):
        return
    if torch.cuda._is_in_bad_fork():
        raise RuntimeError(
            "CUDA cannot be used in a process that was forked from one that "
            "used it: fill masks on the GPU in the main process, or start the "
            "workers of the loader with multiprocessing_context='spawn'"
        )
