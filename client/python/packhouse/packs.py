"""The answer of a packer: which sequences share a pack."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from packhouse import _core
from packhouse.lengths import Lengths, as_lengths

if TYPE_CHECKING:
    from packhouse.spec import Spec


class Packs:
    """Packs, column by column, in release order.

    Pack i holds `ordinals[offsets[i]:offsets[i + 1]]`. The columns are not to
    be changed.

    Attributes:
        spec: What they were packed by.
        ordinals: uint64 [units]. Places of the sequences in their list or
            stream, from 0; in each pack they ascend.
        offsets: uint64 [packs + 1]. Where each pack begins.
        source_offsets: uint32 [units], or None where all are 0: where in its
            sequence each unit begins, in tokens. A unit is a sequence, what is
            left of a truncated one, or a piece of a split one.
    """

    def __init__(
        self,
        spec: Spec,
        ordinals: npt.NDArray[np.uint64],
        offsets: npt.NDArray[np.uint64],
        source_offsets: npt.NDArray[np.uint32] | None = None,
        *,
        sequence_lengths: Lengths | None = None,
        first_ordinal: int = 0,
        notes: dict[str, Any] | None = None,
    ) -> None:
        self.spec = spec
        self.ordinals = ordinals
        self.offsets = offsets
        self.source_offsets = source_offsets
        self.notes: dict[str, Any] = notes or {}
        self._sequence_lengths = sequence_lengths
        self._first_ordinal = first_ordinal

    def with_lengths(
        self, lengths: npt.ArrayLike, first_ordinal: int = 0
    ) -> Packs:
        """The same packs, which know how long their sequences are.

        Args:
            lengths: Integers [n], of the sequences from `first_ordinal` on.
            first_ordinal: The ordinal of lengths[0].
        """
        return Packs(
            self.spec,
            self.ordinals,
            self.offsets,
            self.source_offsets,
            sequence_lengths=as_lengths(lengths),
            first_ordinal=first_ordinal,
            notes=self.notes,
        )

    @cached_property
    def lengths(self) -> Lengths:
        """The packed tokens of each unit, uint32 [units].

        Raises:
            ValueError: The packs do not know lengths (`with_lengths`), or hold
                a sequence that these do not have.
        """
        if self._sequence_lengths is None:
            raise ValueError(
                "these packs do not know how long their sequences are: "
                "with_lengths tells them"
            )
        return _core.unit_lengths(
            self._sequence_lengths,
            self.spec.native,
            self._first_ordinal,
            self.ordinals,
            self.source_offsets,
        )

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The units of each pack, int64 [packs]."""
        offsets = self.offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]

    @property
    def tokens(self) -> npt.NDArray[np.int64]:
        """The packed tokens of each pack, int64 [packs]."""
        sums = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths, out=sums[1:])
        ends: npt.NDArray[np.int64] = sums[self.offsets]
        return ends[1:] - ends[:-1]

    @property
    def efficiency(self) -> float:
        """Packed tokens / slots, from 0 to 1; 1 where there are no packs."""
        slots = len(self) * self.spec.capacity_tokens
        return int(self.lengths.sum(dtype=np.int64)) / slots if slots else 1.0

    @property
    def lower_bound(self) -> int:
        """No packing of these lengths needs fewer packs.

        For "best" the bound that it proved; else Martello and Toth's L2 and
        dual-feasible functions (include/packhouse/plan_check.h).
        """
        proven = int(self.notes.get("lower_bound_packs", 0))
        if proven:
            return proven
        return _core.lower_bound_packs(
            self._all_lengths(None), self.spec.native
        )

    def verify(self, lengths: npt.ArrayLike | None = None) -> None:
        """Proves that the packs are a legal answer for all `lengths`.

        Each sequence is in exactly one pack (or what the policies make of it
        is), and no pack is over a limit. The proof shares no code with the
        packers.

        Args:
            lengths: Integers [n] of all sequences; those that the packs know
                if None.

        Raises:
            RuntimeError: They are not; the first violations are named.
            ValueError: The spec refuses the lengths, or there are none.
        """
        _core.verify(
            self._all_lengths(lengths),
            self.spec.native,
            self.ordinals,
            self.offsets,
            self.source_offsets,
        )

    def _all_lengths(self, lengths: npt.ArrayLike | None) -> Lengths:
        if lengths is not None:
            return as_lengths(lengths)
        if self._sequence_lengths is None or self._first_ordinal != 0:
            raise ValueError("give the lengths of all sequences")
        return self._sequence_lengths

    def as_lists(self) -> list[list[int]]:
        """The ordinals of each pack, as lists."""
        return [pack.tolist() for pack in self]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the packs as JSON Lines, as `packhouse plan --packs` does.

        The file takes its name when it is whole. `packhouse verify` reads it,
        and `load`. The packs have to know their lengths.
        """
        partial = f"{os.fspath(path)}.partial"
        with open(partial, "w", encoding="utf-8") as file:
            for i in range(len(self)):
                file.write(self._line(i))
        os.replace(partial, path)

    def _line(self, i: int) -> str:
        begin, end = int(self.offsets[i]), int(self.offsets[i + 1])
        line = {
            "ordinals": self.ordinals[begin:end].tolist(),
            "lengths": self.lengths[begin:end].tolist(),
        }
        if self.source_offsets is not None:
            offsets = self.source_offsets[begin:end]
            if offsets.any():
                line["source_offsets"] = offsets.tolist()
        return json.dumps(line, separators=(",", ":")) + "\n"

    @classmethod
    def load(cls, path: str | os.PathLike[str], spec: Spec) -> Packs:
        """Reads what `save` or `packhouse plan --packs` wrote.

        Raises:
            ValueError: A line is not a pack; its number is named.
        """
        ordinals: list[int] = []
        offsets = [0]
        source_offsets: list[int] = []
        with open(path, "rb") as file:
            for number, text in enumerate(file, 1):
                try:
                    line = json.loads(text)
                    own = _integers(line["ordinals"], 2**64)
                    begins = _integers(
                        line.get("source_offsets", [0] * len(own)), 2**32
                    )
                    if len(begins) != len(own):
                        raise ValueError("columns of several lengths")
                except (ValueError, TypeError, KeyError) as error:
                    raise ValueError(
                        f"{os.fspath(path)}, line {number} is not a pack: "
                        f"{error!r}"
                    ) from None
                ordinals += own
                source_offsets += begins
                offsets.append(len(ordinals))
        return cls(
            spec,
            np.array(ordinals, np.uint64),
            np.array(offsets, np.uint64),
            np.array(source_offsets, np.uint32)
            if any(source_offsets)
            else None,
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, i: int) -> npt.NDArray[np.uint64]: ...
    @overload
    def __getitem__(self, i: slice) -> Packs: ...
    def __getitem__(self, i: int | slice) -> npt.NDArray[np.uint64] | Packs:
        """The ordinals of pack i; of a slice without steps, those packs."""
        if isinstance(i, slice):
            return self._slice(i)
        i = operator.index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"pack {i} of {len(self)}")
        i %= len(self)
        return self.ordinals[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def _slice(self, i: slice) -> Packs:
        first, last, step = i.indices(len(self))
        if step != 1:
            raise ValueError(f"packs are sliced in steps of 1, not {step}")
        last = max(first, last)
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        return Packs(
            self.spec,
            self.ordinals[begin:end],
            self.offsets[first : last + 1] - self.offsets[first],
            None
            if self.source_offsets is None
            else self.source_offsets[begin:end],
            sequence_lengths=self._sequence_lengths,
            first_ordinal=self._first_ordinal,
        )

    def __iter__(self) -> Iterator[npt.NDArray[np.uint64]]:
        for i in range(len(self)):
            yield self[i]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Packs):
            return NotImplemented
        return (
            np.array_equal(self.offsets, other.offsets)
            and np.array_equal(self.ordinals, other.ordinals)
            and np.array_equal(self._begins(), other._begins())
        )

    __hash__ = None  # type: ignore[assignment]

    def _begins(self) -> npt.NDArray[np.uint32]:
        if self.source_offsets is None:
            return np.zeros(len(self.ordinals), np.uint32)
        return self.source_offsets

    def __repr__(self) -> str:
        words = f"{len(self)} packs of {len(self.ordinals)} sequences"
        if self._sequence_lengths is not None:
            words += f", {self.efficiency:.2%} full"
        return f"<Packs: {words}, {self.spec!r}>"

    def _repr_html_(self) -> str:
        from packhouse._picture import picture_of  # noqa: PLC0415

        return picture_of(self)


def _integers(values: Any, end: int) -> list[int]:
    """A column of a saved pack.

    Raises:
        TypeError: It is no list.
        ValueError: It holds anything but integers from 0 to end - 1; the
            first such is named.
    """
    if not isinstance(values, list):
        raise TypeError(f"{values!r:.40} is not a list")
    for value in values:
        if type(value) is not int or not 0 <= value < end:
            raise ValueError(
                f"{value!r:.40} is not an integer from 0 to {end - 1}"
            )
    return values
