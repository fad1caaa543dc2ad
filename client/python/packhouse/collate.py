"""From packs to the batches of training stacks: `collate_fn` of a loader.

Each collator takes the packs of a batch and returns a `Batch`, a dict with
what its consumer takes, by the names that this has for it. docs/python.md has
a section for each. They hold no closures and no tensors, so that they can be
sent to workers.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from packhouse import masks
from packhouse.items import TOKENS, Pack, gather

__all__ = [
    "Batch",
    "FlexAttention",
    "MaxText",
    "Megatron",
    "PaddingFree",
    "Rows",
    "TransformerEngine",
    "Unit",
    "trl_row",
]

LABELS = "labels"

_TOKEN_FORMATS = ("input_ids", "labels", "position_ids")


@dataclasses.dataclass(frozen=True)
class Unit:
    """A sequence of a batch, or a part of one.

    Attributes:
        ordinal: The place of its item in the source (of its shard).
        source_offset: Its first token in the item.
        tokens: How many it has.
        begin: Its first token among those of the batch, row after row.
    """

    ordinal: int
    source_offset: int
    tokens: int
    begin: int


class Batch(dict[str, Any]):
    """A dict for a model, which knows what is where in it.

    Attributes:
        units: Its sequences, in the order of the batch.
    """

    def __init__(self, *args: Any, units: Iterable[Unit] = ()) -> None:
        super().__init__(*args)
        self.units = tuple(units)
        self._refuse_cut_offsets()

    def _refuse_cut_offsets(self) -> None:
        """Whoever slices a batch by rows makes another one, with less offsets.

        Models would take them, and sequences would see each other.
        """
        for name in ("cu_seq_lens_q", "cu_seqlens_q"):
            if name in self and self[name].shape[0] < 2:
                raise ValueError(
                    f"{name} of this batch was cut to {self[name].shape[0]} "
                    "entries, as accelerate does when it dispatches batches: "
                    "set dispatch_batches=False (Trainer: accelerator_config="
                    '{"dispatch_batches": False})'
                )

    def to(self, device: Any, non_blocking: bool = False) -> Batch:
        """The same with tensors, and a BlockMask, on a device of torch."""
        return Batch(
            {
                name: _moved(value, device, non_blocking)
                for name, value in self.items()
            },
            units=self.units,
        )

    def unpack(self, values: Any) -> Iterator[tuple[Unit, Any]]:
        """Brings what a model made of each token back to its sequence.

        Args:
            values: [rows, row_tokens, ...], a tensor or an array, such as
                logits or losses.

        Yields:
            Each unit and its part of the values, [tokens, ...], without
            padding and without a copy.

        Raises:
            ValueError: The values are of fewer tokens than the batch.
        """
        flat = values.reshape(-1, *values.shape[2:])
        for unit in self.units:
            end = unit.begin + unit.tokens
            if end > flat.shape[0]:
                raise ValueError(
                    f"the values are of {flat.shape[0]} tokens, a sequence of "
                    f"the batch ends at {end}"
                )
            yield unit, flat[unit.begin : end]

    def __repr__(self) -> str:
        said = [
            f"{name} {list(value.shape)}" if hasattr(value, "shape") else name
            for name, value in self.items()
        ]
        return f"<Batch of {len(self.units)} sequences: {', '.join(said)}>"


def _moved(value: Any, device: Any, non_blocking: bool) -> Any:
    if isinstance(getattr(value, "mask_mod", None), MaskMod):
        mask = value.to(device)
        # BlockMask moves its tables alone.
        mask.mask_mod = value.mask_mod.to(device)
        return mask
    if hasattr(value, "to"):
        return value.to(device, non_blocking=non_blocking)
    return value


class _Collator:
    """What collators share: the layout of the packs, and their tokens."""

    pad_mode = "segment"

    def __init__(
        self,
        *,
        pad_id: int = 0,
        tokens: str = TOKENS,
        labels: str = LABELS,
        **options: Any,
    ) -> None:
        """Prepares to collate.

        Args:
            pad_id: Token of padding.
            tokens: The column of tokens.
            labels: The column of labels, the tokens where there is none.
                Labels stand at their own tokens, as Hugging Face has them;
                -100 is not learned.
            options: More of `packhouse.masks.Options`, such as
                `mask="causal_window", window=512`.
        """
        self.tokens = tokens
        self.labels = labels
        self.options: dict[str, Any] = {"pad_id": pad_id, **options}

    def _layout(self, packs: Sequence[Pack], **settings: Any) -> masks.Layout:
        if not packs:
            raise ValueError("a batch needs at least one pack")
        for pack in packs:
            if not isinstance(pack, Pack):
                raise TypeError(
                    f"a collator of packhouse takes packs of a PackedDataset, "
                    f"not {type(pack).__name__}"
                )
        return masks.layout(
            [pack.lengths for pack in packs],
            max(pack.capacity_tokens for pack in packs),
            pad_mode=self.pad_mode,
            **settings,
        )

    def _fill(
        self, layout: masks.Layout, packs: Sequence[Pack], formats: Any
    ) -> dict[str, Any]:
        sources = {"tokens": self._column(packs, self.tokens)}
        if any(self.labels in pack.columns for pack in packs):
            sources["labels"] = self._column(packs, self.labels)
        return masks.fill(layout, formats, **sources, **self.options)

    def _column(self, packs: Sequence[Pack], name: str) -> Any:
        filled = [pack for pack in packs if len(pack) > 0]
        for pack in filled:
            if name not in pack.columns:
                raise ValueError(
                    f"a pack has no column {name!r}, it has: "
                    f"{', '.join(pack.columns)}"
                )
        if not filled:
            return np.empty(0, np.int64)
        column = gather([pack.columns[name] for pack in filled])
        if isinstance(column, np.ndarray):
            return _readable(column, name)
        return column


def _readable(column: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Integers of a type that formats are made of."""
    if column.dtype in (np.uint16, np.int32, np.int64):
        return column
    if not np.issubdtype(column.dtype, np.integer):
        raise ValueError(
            f"column {name!r} is of type {column.dtype}, it must be integers"
        )
    return column.astype(np.int64)


def _units(layout: masks.Layout, packs: Sequence[Pack]) -> Iterator[Unit]:
    begins = iter(layout.sequence_begins().tolist())
    for pack in packs:
        for ordinal, offset, tokens in zip(
            pack.ordinals.tolist(),
            pack.source_offsets.tolist(),
            pack.lengths.tolist(),
            strict=True,
        ):
            yield Unit(ordinal, offset, tokens, next(begins))


def _to_torch(arrays: dict[str, Any]) -> dict[str, Any]:
    import torch  # noqa: PLC0415

    return {
        name: torch.from_numpy(value)
        if isinstance(value, np.ndarray)
        else value
        for name, value in arrays.items()
    }


class PaddingFree(_Collator):
    """One row [1, T] without padding, for Hugging Face transformers.

    `input_ids`, `labels`, `position_ids` (int64 [1, T]), `cu_seq_lens_q` and
    `cu_seq_lens_k` (int32), `max_length_q` and `max_length_k` (ints), and
    `use_cache=False`: with a cache sdpa and eager attention do not see that
    sequences were packed, and let them see each other without a word.
    """

    pad_mode = "trim"

    def __init__(self, *, multiple: int = 1, **options: Any) -> None:
        """Prepares to collate.

        Args:
            multiple: The row is filled up to a multiple of it, with padding
                that attends itself.
            options: As of all collators: `pad_id`, `tokens`, `labels`, ...
        """
        super().__init__(**options)
        self.multiple = multiple

    def __call__(self, packs: Sequence[Pack]) -> Batch:
        """A batch of torch tensors."""
        layout = self._layout(packs, trim_multiple=self.multiple)
        arrays = self._fill(layout, packs, [*_TOKEN_FORMATS, "cu_seqlens"])
        cu_seqlens = arrays.pop("cu_seqlens")
        return Batch(
            {
                **_to_torch({**arrays, "cu_seq_lens_q": cu_seqlens}),
                **_to_torch({"cu_seq_lens_k": cu_seqlens}),
                "max_length_q": layout.max_segment,
                "max_length_k": layout.max_segment,
                "use_cache": False,
            },
            units=_units(layout, packs),
        )


class Rows(_Collator):
    """Padded rows [R, S] with a 4-D mask, for sdpa and eager attention.

    `input_ids`, `labels`, `position_ids`, `attention_mask` [R, 1, S, S] and
    `use_cache=False`. The mask is bool for "sdpa"; "eager" adds it, so it is
    0 and the lowest number of `dtype` there.
    """

    def __init__(
        self,
        *,
        attention: str = "sdpa",
        dtype: str = "float32",
        **options: Any,
    ) -> None:
        """Prepares to collate.

        Args:
            attention: The attn_implementation of the model: "sdpa" or "eager".
            dtype: Type of the model, of masks that are added: "float32",
                "bfloat16" or "float16".
            options: As of all collators.
        """
        if attention not in ("sdpa", "eager"):
            raise ValueError(
                f"attention is {attention!r}, it must be 'sdpa' or 'eager'; "
                "PaddingFree is for flash attention, FlexAttention for flex"
            )
        if dtype not in ("float32", "bfloat16", "float16"):
            raise ValueError(
                f"dtype is {dtype!r}, it must be 'float32', 'bfloat16' or "
                "'float16'"
            )
        super().__init__(**options, minus_infinity=False)
        self.attention = attention
        self.dtype = dtype

    def __call__(self, packs: Sequence[Pack]) -> Batch:
        """A batch of torch tensors."""
        import torch  # noqa: PLC0415

        layout = self._layout(packs, alignment=packs[0].alignment)
        rows, tokens = layout.rows, layout.row_tokens
        kind = torch.bool if self.attention == "sdpa" else self.dtype
        mask = torch.empty(
            (rows, 1, tokens, tokens),
            dtype=getattr(torch, kind) if isinstance(kind, str) else kind,
        )
        formats = {
            name: torch.empty((rows, tokens), dtype=torch.int64)
            for name in _TOKEN_FORMATS
        }
        arrays = self._fill(layout, packs, {**formats, "dense_mask": mask})
        arrays["attention_mask"] = arrays.pop("dense_mask")
        return Batch(
            {**arrays, "use_cache": False}, units=_units(layout, packs)
        )


class MaskMod:
    """Which keys a query attends, for PyTorch's FlexAttention.

    A `mask_mod` that can be sent to workers and devices.
    """

    def __init__(self, kv_start: Any, kv_end: Any) -> None:
        self.kv_start = kv_start
        self.kv_end = kv_end

    def to(self, device: Any) -> MaskMod:
        """The same on a device of torch."""
        return MaskMod(self.kv_start.to(device), self.kv_end.to(device))

    def __call__(self, b: Any, h: Any, q: Any, k: Any) -> Any:
        """Whether query q of row b attends key k, in every head."""
        return (k >= self.kv_start[b, q]) & (k < self.kv_end[b, q])


_BLOCKS = [
    f"{full}{side}_{what}"
    for side in ("kv", "q")
    for full in ("", "full_")
    for what in ("num_blocks", "indices")
]


class FlexAttention(_Collator):
    """Padded rows [R, S] with a BlockMask, for PyTorch's FlexAttention.

    `input_ids`, `labels`, `position_ids` and `attention_mask`, which is a
    `torch.nn.attention.flex_attention.BlockMask`, made without a mask of
    S x S.
    """

    def __call__(self, packs: Sequence[Pack]) -> Batch:
        """A batch of torch tensors."""
        from torch.nn.attention.flex_attention import (  # noqa: PLC0415
            BlockMask,
        )

        layout = self._layout(packs, alignment=packs[0].alignment)
        arrays = _to_torch(
            self._fill(
                layout,
                packs,
                [*_TOKEN_FORMATS, "kv_start", "kv_end", *_BLOCKS],
            )
        )
        mask = BlockMask(
            seq_lengths=(layout.row_tokens, layout.row_tokens),
            BLOCK_SIZE=tuple(self.options.get("block_size", (128, 128))),
            mask_mod=MaskMod(arrays.pop("kv_start"), arrays.pop("kv_end")),
            **{name: arrays.pop(name) for name in _BLOCKS},
        )
        return Batch(
            {**arrays, "attention_mask": mask, "use_cache": False},
            units=_units(layout, packs),
        )


class Megatron(_Collator):
    """Padded rows with shifted labels: Megatron's keys.

    `tokens`, `labels`, `position_ids` (int64 [R, S]), `loss_mask` (float32):
    labels[t] is what token t has to predict, 0 where nothing is.
    """

    pad_mode = "merge_last"

    def __init__(self, **options: Any) -> None:
        """Prepares to collate.

        Args:
            options: As of all collators.
        """
        super().__init__(**{"ignore_id": 0, **options}, label_shift="shifted")

    def __call__(self, packs: Sequence[Pack]) -> Batch:
        """A batch of torch tensors."""
        layout = self._layout(packs, alignment=packs[0].alignment)
        arrays = _to_torch(
            self._fill(
                layout,
                packs,
                [*_TOKEN_FORMATS, "loss_mask"],
            )
        )
        arrays["tokens"] = arrays.pop("input_ids")
        return Batch(arrays, units=_units(layout, packs))


class TransformerEngine(Megatron):
    """One flat row of slots, for THD attention of Transformer Engine.

    As `Megatron` in one row [1, R x S], with `cu_seqlens_q`, `cu_seqlens_kv`,
    `cu_seqlens_q_padded`, `cu_seqlens_kv_padded` (int32), `max_seqlen_q` and
    `max_seqlen_kv` (ints), and with several ranks `cp_indices` [ranks, tokens
    of a rank].
    """

    pad_mode = "slots"

    def __init__(self, *, cp_ranks: int = 1, **options: Any) -> None:
        """Prepares to collate.

        Args:
            cp_ranks: Context-parallel ranks. The `alignment` of the dataset
                and its capacity have to be multiples of twice as many.
            options: As of all collators.
        """
        super().__init__(**options, cp_ranks=cp_ranks)

    def __call__(self, packs: Sequence[Pack]) -> Batch:
        """A batch of torch tensors."""
        layout = self._layout(packs, alignment=packs[0].alignment, flat=True)
        formats = [*_TOKEN_FORMATS, "loss_mask"]
        formats += ["cu_seqlens", "cu_seqlens_padded"]
        if self.options["cp_ranks"] > 1:
            formats.append("cp_indices")
        arrays = _to_torch(self._fill(layout, packs, formats))
        arrays["tokens"] = arrays.pop("input_ids")
        offsets = arrays.pop("cu_seqlens")
        padded = arrays.pop("cu_seqlens_padded")
        for side in ("q", "kv"):
            arrays[f"cu_seqlens_{side}"] = offsets
            arrays[f"cu_seqlens_{side}_padded"] = padded
            arrays[f"max_seqlen_{side}"] = layout.max_slot
        return Batch(arrays, units=_units(layout, packs))


class MaxText(_Collator):
    """Padded rows of numpy arrays, for MaxText and other JAX programs.

    int32 [R, S]: `inputs`, `inputs_position`, `inputs_segmentation` (from 1,
    padding is 0), and `targets`, `targets_position`, `targets_segmentation`,
    which is 0 where there is nothing to learn.
    """

    pad_mode = "masked"

    def __init__(self, **options: Any) -> None:
        """Prepares to collate.

        Args:
            options: As of all collators.
        """
        super().__init__(**{"ignore_id": 0, **options}, label_shift="shifted")

    def __call__(self, packs: Sequence[Pack]) -> Batch:
        """A batch of numpy arrays."""
        layout = self._layout(packs, alignment=packs[0].alignment)
        formats: dict[str, Any] = {
            name: np.empty((layout.rows, layout.row_tokens), np.int32)
            for name in (*_TOKEN_FORMATS, "sequence_ids")
        }
        formats["loss_mask"] = np.empty(
            (layout.rows, layout.row_tokens), np.float32
        )
        arrays = self._fill(layout, packs, formats)
        ids = arrays["sequence_ids"]
        return Batch(
            {
                "inputs": arrays["input_ids"],
                "inputs_position": arrays["position_ids"],
                "inputs_segmentation": ids,
                "targets": arrays["labels"],
                "targets_position": arrays["position_ids"],
                "targets_segmentation": np.where(arrays["loss_mask"], ids, 0),
            },
            units=_units(layout, packs),
        )


def trl_row(pack: Pack) -> dict[str, list[int]]:
    """A row for TRL's SFTTrainer: `input_ids`, `labels` and `seq_lengths`.

    For `SFTConfig(packing=False, padding_free=True, max_length=None,
    dataset_kwargs={"skip_prepare_dataset": True})` and no data collator: TRL's
    own takes lengths from `seq_lengths` then.
    """
    tokens = np.asarray(pack.columns[TOKENS]).tolist()
    labels = pack.columns.get(LABELS)
    return {
        "input_ids": tokens,
        "labels": list(tokens)
        if labels is None
        else np.asarray(labels).tolist(),
        "seq_lengths": pack.lengths.tolist(),
    }
