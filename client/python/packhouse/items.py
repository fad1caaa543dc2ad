"""What loaders have: items with token-aligned columns, and packs of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from packhouse.lengths import Lengths

TOKENS = "input_ids"
"""The column of an item that is nothing but its tokens."""


class Pack:
    """Sequences that share a row, column by column.

    Attributes:
        columns: For each token-aligned column the values of all sequences one
            after another: a numpy array [tokens], or a torch tensor where the
            items have tensors.
        extras: For each other column a list with the item's value for each
            sequence.
        lengths: uint32 [sequences], their tokens.
        ordinals: uint64 [sequences], the places of their items in the source.
        source_offsets: uint32 [sequences]: where in its item each begins.
        capacity_tokens: Tokens that the row has room for.
        alignment: Sequences begin at multiples of it in the row.
    """

    __slots__ = (
        "alignment",
        "capacity_tokens",
        "columns",
        "extras",
        "lengths",
        "ordinals",
        "source_offsets",
    )

    def __init__(
        self,
        columns: dict[str, Any],
        extras: dict[str, list[Any]],
        lengths: Lengths,
        ordinals: npt.NDArray[np.uint64],
        source_offsets: npt.NDArray[np.uint32],
        capacity_tokens: int,
        alignment: int,
    ) -> None:
        self.columns = columns
        self.extras = extras
        self.lengths = lengths
        self.ordinals = ordinals
        self.source_offsets = source_offsets
        self.capacity_tokens = capacity_tokens
        self.alignment = alignment

    @property
    def tokens(self) -> int:
        """Tokens of all sequences, without padding."""
        return int(self.lengths.sum(dtype=np.int64))

    def __len__(self) -> int:
        """The number of sequences."""
        return len(self.lengths)

    def sequences(self, column: str) -> list[Any]:
        """The part of each sequence in a column, without a copy."""
        ends = np.cumsum(self.lengths, dtype=np.int64)
        values = self.columns[column]
        return [
            values[end - length : end]
            for end, length in zip(
                ends.tolist(), self.lengths.tolist(), strict=True
            )
        ]

    def __getstate__(self) -> tuple[None, dict[str, Any]]:
        return None, {name: getattr(self, name) for name in self.__slots__}

    def __repr__(self) -> str:
        return (
            f"<Pack: {len(self)} sequences of {self.lengths.tolist()} tokens, "
            f"{self.tokens / self.capacity_tokens:.1%} of "
            f"{self.capacity_tokens}, columns {', '.join(self.columns)}>"
        )


class ItemError(ValueError):
    """An item is not what a dataset can read; its place is named."""


class ItemReader:
    """Finds the length and the token-aligned columns of items.

    Items are mappings of columns, or nothing but their tokens (a list, an
    array or a tensor). Columns are found in the first item that has tokens,
    and every later one has to have them.
    """

    def __init__(
        self,
        length: str | Callable[[Any], int] | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        """Prepares to read.

        Args:
            length: The column whose size is the length of an item, or a
                function of the item; "input_ids" if None.
            columns: The token-aligned columns; if None, all those of the first
                item that hold numbers and have its length.
        """
        self._length = length
        self._column = TOKENS if not isinstance(length, str) else length
        self._wanted = None if columns is None else list(columns)
        self.columns: list[str] = []
        self.extras: list[str] = []
        self._known = False

    def read(
        self, item: Any, ordinal: int
    ) -> tuple[int, Mapping[str, Any], int]:
        """The length of an item, its columns, and 1: it is one unit.

        Raises:
            ItemError: It is neither a mapping nor tokens, a column is missing,
                or has another length; the item, the column and both lengths
                are named.
        """
        columns = item if type(item) is dict else _columns_of(item, ordinal)
        try:
            length = (
                int(self._length(item))
                if callable(self._length)
                else len(columns[self._column])
            )
            if not self._known:
                self._learn(columns, length, ordinal)
            for name in self.columns:
                if len(columns[name]) != length:
                    raise ItemError(
                        f"item {ordinal}: column {name!r} has "
                        f"{len(columns[name])} values, its length is {length}"
                    )
        except (KeyError, TypeError) as error:
            raise ItemError(
                f"item {ordinal} does not have the columns "
                f"{', '.join(map(repr, self.columns or [self._column]))} with "
                f"a length: it has {_describe(columns)}"
            ) from error
        return length, columns, 1

    def _learn(
        self, columns: Mapping[str, Any], length: int, ordinal: int
    ) -> None:
        if self._wanted is not None:
            self.columns = list(self._wanted)
        else:
            self.columns = [
                name
                for name, value in columns.items()
                if _is_aligned(value, length)
            ]
        if not self.columns:
            raise ItemError(
                f"item {ordinal} has no column of {length} numbers: it has "
                f"{_describe(columns)}"
            )
        self.extras = [name for name in columns if name not in self.columns]
        self._known = length > 0 or self._wanted is not None


def _columns_of(item: Any, ordinal: int) -> Mapping[str, Any]:
    if isinstance(item, Mapping):
        return item
    if hasattr(item, "__len__") and not isinstance(item, (str, bytes)):
        return {TOKENS: item}
    raise ItemError(
        f"item {ordinal} is of type {type(item).__name__}, it must be a "
        "mapping of columns, or a list, an array or a tensor of tokens"
    )


def _describe(columns: Mapping[str, Any]) -> str:
    """The first ten columns, such as "input_ids (list), id (int)"."""
    said = [
        f"{name} ({type(value).__name__})"
        for name, value in list(columns.items())[:10]
    ]
    return ", ".join(said) or "no columns"


def _is_aligned(value: Any, length: int) -> bool:
    if isinstance(value, (str, bytes, Mapping)) or not hasattr(
        value, "__len__"
    ):
        return False
    if len(value) != length:
        return False
    return length == 0 or not isinstance(value[0], (str, bytes, Mapping, list))


def gather(parts: list[Any]) -> Any:
    """One array of all parts: a tensor of torch where they are such.

    Lists become int64, floats float64; arrays and tensors keep their type.
    """
    first = parts[0]
    if type(first).__module__.partition(".")[0] == "torch":
        import torch  # noqa: PLC0415

        return torch.cat([torch.as_tensor(part) for part in parts])
    return np.concatenate(parts)
