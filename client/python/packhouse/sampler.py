"""Packs of data sets whose lengths are known: every rank has the same plan.

The order of an epoch, its packs and who takes which follow from the lengths,
the spec, a seed and the number of the epoch: ranks agree without a word. Packs
of a step cost about the same, since the step lasts as long as its dearest.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from packhouse import _core
from packhouse.items import ItemReader, Pack, gather
from packhouse.lengths import Lengths, as_lengths
from packhouse.packs import Packs
from packhouse.planning import plan
from packhouse.ranks import this_rank
from packhouse.spec import Spec, make_spec

if TYPE_CHECKING:

    class _Dataset: ...

    class _Sampler: ...

elif importlib.util.find_spec("torch") is not None:
    from torch.utils.data import Dataset as _Dataset
    from torch.utils.data import Sampler as _Sampler
else:
    _Dataset = _Sampler = object

# Steps whose packs are looked at together, so that those of a step cost about
# the same; beyond some dozens nothing is won.
_LOOK_AHEAD_STEPS = 64


class EpochPlan:
    """The packs that one rank takes in an epoch, one for each step.

    Attributes:
        packs: All packs of the epoch, of all ranks. Their ordinals are places
            in the order of the epoch.
        order: int64 [n]: the item at each place.
        steps: The numbers of this rank's packs, step by step; -1 is none.
    """

    def __init__(
        self,
        lengths: Lengths,
        spec: Spec,
        *,
        rank: int,
        ranks: int,
        seed: int,
        epoch: int,
        cost: tuple[float, float],
        surplus: str,
    ) -> None:
        # Bits of these two numbers alone, the same on every machine.
        shuffle = np.random.Generator(np.random.PCG64([seed, epoch]))
        self.order: npt.NDArray[np.int64] = shuffle.permutation(len(lengths))
        self.packs: Packs = plan(lengths[self.order], spec)
        costs = _core.pack_costs(self.packs.lengths, self.packs.offsets, *cost)
        taken = _core.balance(costs, ranks, ranks * _LOOK_AHEAD_STEPS, seed)
        whole = len(taken) // ranks * ranks
        if surplus == "fill" and whole < len(taken):
            none = np.full(whole + ranks - len(taken), -1)
            taken = np.concatenate([taken.astype(np.int64), none])
        else:
            taken = taken[:whole].astype(np.int64)
        self.steps: list[int] = taken[rank::ranks].tolist()

    def items(self, step: int) -> npt.NDArray[np.int64]:
        """The items of this rank's pack in a step, in its order."""
        pack = self.steps[step]
        if pack < 0:
            return np.empty(0, np.int64)
        return self.order[self.packs[pack].astype(np.int64)]


class _Planned:
    """What data sets and samplers with a plan share."""

    def __init__(
        self,
        lengths: npt.ArrayLike,
        capacity_tokens: int | Spec,
        *,
        rank: int | None,
        ranks: int | None,
        seed: int,
        cost: tuple[float, float],
        surplus: str,
        options: dict[str, Any],
    ) -> None:
        if surplus not in ("drop", "fill"):
            raise ValueError(
                f"surplus is {surplus!r}, it must be 'drop' or 'fill'"
            )
        own, count = this_rank()
        self.rank = own if rank is None else rank
        self.ranks = count if ranks is None else ranks
        if self.ranks < 1 or not 0 <= self.rank < self.ranks:
            raise ValueError(
                f"rank is {self.rank} of {self.ranks} ranks, it must be from "
                "0 to one less than these"
            )
        self.lengths = as_lengths(lengths)
        self.spec = make_spec(capacity_tokens, options)
        self.seed = seed
        self.cost = cost
        self.surplus = surplus
        self.epoch = 0
        self._plan: EpochPlan | None = None

    def set_epoch(self, epoch: int) -> None:
        """Another epoch has another order. All ranks have to say the same."""
        if epoch != self.epoch:
            self.epoch, self._plan = epoch, None

    @property
    def plan(self) -> EpochPlan:
        """The plan of the epoch; it is made when it is first asked for."""
        if self._plan is None:
            self._plan = EpochPlan(
                self.lengths,
                self.spec,
                rank=self.rank,
                ranks=self.ranks,
                seed=self.seed,
                epoch=self.epoch,
                cost=self.cost,
                surplus=self.surplus,
            )
        return self._plan

    def __len__(self) -> int:
        """Packs of this rank in the epoch: its steps."""
        return len(self.plan.steps)

    def __getstate__(self) -> dict[str, Any]:
        # Workers make the plan themselves: it may be large.
        return {**self.__dict__, "_plan": None}

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__}: {len(self.lengths)} items, rank "
            f"{self.rank} of {self.ranks}, epoch {self.epoch}, {self.spec!r}>"
        )


class PackedBatchSampler(_Planned, _Sampler):
    """Yields the items of one pack after another: a `batch_sampler`.

        sampler = packhouse.PackedBatchSampler(lengths, 4096, seed=1)
        loader = DataLoader(items, batch_sampler=sampler, collate_fn=...)

    The `collate_fn` gets the items of one pack. Policies that cut or drop
    sequences are for `PlannedDataset`, which knows what is left of them.
    """

    def __init__(
        self,
        lengths: npt.ArrayLike,
        capacity_tokens: int | Spec,
        *,
        rank: int | None = None,
        ranks: int | None = None,
        seed: int = 0,
        cost: tuple[float, float] = (1.0, 0.0),
        surplus: str = "drop",
        **options: Any,
    ) -> None:
        """Prepares; the plan is made when the first pack is asked for.

        Args:
            lengths: Integers [n], the tokens of each item.
            capacity_tokens: Tokens that a pack holds, or a whole `Spec`.
            rank: This one; that of torch.distributed, or of RANK, if None.
            ranks: How many there are; likewise.
            seed: Of the order, with the epoch.
            cost: Of a token and of a token squared: what makes the packs of a
                step equally dear, such as (24576, 1) for 7 billion parameters.
            surplus: What becomes of the packs that do not fill a last step:
                "drop", or "fill" with packs without sequences.
            options: Those of `Spec`.
        """
        _Planned.__init__(
            self,
            lengths,
            capacity_tokens,
            rank=rank,
            ranks=ranks,
            seed=seed,
            cost=cost,
            surplus=surplus,
            options=options,
        )
        if self.spec.overlong != "error" or self.spec.empty != "error":
            raise ValueError(
                "a sampler gives whole items: overlong and empty have to be "
                "'error' (PlannedDataset cuts them)"
            )

    def __iter__(self) -> Iterator[list[int]]:
        """The items of each pack of this rank."""
        for step in range(len(self)):
            yield self.plan.items(step).tolist()


class PlannedDataset(_Planned, _Dataset):
    """A map-style data set of packs, over one of items.

        packs = packhouse.PlannedDataset(items, 4096, lengths=lengths, seed=1)
        loader = DataLoader(packs, batch_size=4,
                            collate_fn=packhouse.collate.PaddingFree())

    Element i is the pack of this rank in step i. It is sharded by itself: no
    DistributedSampler, and no shuffling but by `set_epoch`.
    """

    def __init__(
        self,
        items: Sequence[Any],
        capacity_tokens: int | Spec,
        *,
        lengths: npt.ArrayLike | None = None,
        length: str | Callable[[Any], int] | None = None,
        columns: Sequence[str] | None = None,
        rank: int | None = None,
        ranks: int | None = None,
        seed: int = 0,
        cost: tuple[float, float] = (1.0, 0.0),
        surplus: str = "drop",
        **options: Any,
    ) -> None:
        """Prepares.

        Args:
            items: Mappings of columns, or the tokens alone, by number.
            capacity_tokens: Tokens that a pack holds, or a whole `Spec`.
            lengths: Integers [n], the tokens of each item; if None, all items
                are read for them now.
            length: As of `PackedDataset`.
            columns: As of `PackedDataset`.
            rank: As of `PackedBatchSampler`, like those that follow.
            ranks: Likewise.
            seed: Likewise.
            cost: Likewise.
            surplus: Likewise.
            options: Those of `Spec`.

        Raises:
            ValueError: As `Spec`; lengths and items are of several numbers; or
                an item is not what can be read.
        """
        self.items = items
        self._length = length
        self._columns = columns
        if lengths is None:
            reader = ItemReader(length, columns)
            lengths = [reader.read(items[i], i)[0] for i in range(len(items))]
        _Planned.__init__(
            self,
            lengths,
            capacity_tokens,
            rank=rank,
            ranks=ranks,
            seed=seed,
            cost=cost,
            surplus=surplus,
            options=options,
        )
        if len(self.lengths) != len(items):
            raise ValueError(
                f"there are {len(self.lengths)} lengths and {len(items)} items"
            )

    def __getitem__(self, step: int) -> Pack:
        """The pack of this rank in a step; without sequences if it is none.

        Raises:
            IndexError: There is no such step.
            ValueError: An item has another length than was planned with.
        """
        if not 0 <= step < len(self):
            raise IndexError(f"step {step} of {len(self)}")
        numbers = self.plan.items(step)
        number = self.plan.steps[step]
        unit = slice(0, 0)
        if number >= 0:
            offsets = self.plan.packs.offsets
            unit = slice(int(offsets[number]), int(offsets[number + 1]))
        tokens = self.plan.packs.lengths[unit]
        begins = self.plan.packs.source_offsets
        starts = (
            np.zeros(len(numbers), np.uint32)
            if begins is None
            else begins[unit]
        )
        columns, extras = self._read(numbers, tokens, starts)
        return Pack(
            columns,
            extras,
            tokens,
            numbers.astype(np.uint64),
            starts,
            self.spec.capacity_tokens,
            self.spec.alignment,
        )

    def _read(
        self,
        numbers: npt.NDArray[np.int64],
        tokens: Lengths,
        starts: npt.NDArray[np.uint32],
    ) -> tuple[dict[str, Any], dict[str, list[Any]]]:
        """The parts of these items, column by column."""
        reader = ItemReader(self._length, self._columns)
        read = []
        for number in numbers.tolist():
            length, columns, _ = reader.read(self.items[number], number)
            if length != self.lengths[number]:
                raise ValueError(
                    f"item {number} has length {length}, it was planned with "
                    f"{self.lengths[number]}"
                )
            read.append(columns)
        parts = list(zip(read, starts.tolist(), tokens.tolist(), strict=True))
        columns = {
            name: gather(
                [
                    item[name][begin : begin + size]
                    for item, begin, size in parts
                ]
            )
            for name in reader.columns
            if parts
        }
        return columns, {
            name: [item.get(name) for item in read] for name in reader.extras
        }
