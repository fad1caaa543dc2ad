"""Packs of any iterable, for a stock data loader.

`PackedDataset` reads items from a source, gives their lengths to a packer and
yields a `Pack` as soon as one is decided. The packer is in this process, or
behind a server (`target`): both take lengths and give packs, and nothing here
knows the difference.
"""

from __future__ import annotations

import collections
import importlib.util
import itertools
import logging
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from packhouse import _core
from packhouse.items import ItemError, ItemReader, Pack, gather
from packhouse.packer import Packer, check_state
from packhouse.packs import Packs
from packhouse.planning import plan
from packhouse.ranks import this_rank
from packhouse.spec import Spec, make_spec

if TYPE_CHECKING:
    _Base = object
elif importlib.util.find_spec("torch") is not None:
    # A loader asks whether a dataset is of this class.
    from torch.utils.data import IterableDataset as _Base
else:
    _Base = object

_log = logging.getLogger("packhouse")

_STATE_VERSION = 1

# The length of an item, its columns, and how many units of it are to come.
_Item = tuple[int, Mapping[str, Any], int]

# Items that are read before the packer is asked: enough that asking costs
# nothing, few enough that the first pack does not wait.
_READ_AHEAD = 256


class PackSource(Protocol):
    """What gives packs for lengths: a `Packer`, or a stream of a server."""

    @property
    def sequences(self) -> int:
        """Sequences taken so far."""

    def add(self, lengths: Any) -> Packs:
        """Takes lengths; gives what is decided."""

    def finish(self) -> Packs:
        """Ends the stream; gives the rest."""

    def state_dict(self) -> dict[str, Any]:
        """All that later packs depend on."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from there."""


class PackedDataset(_Base):
    """An iterable of packs, made of an iterable of items.

        dataset = packhouse.PackedDataset(items, 4096, shard=True)
        loader = torch.utils.data.DataLoader(
            dataset, batch_size=4, num_workers=8,
            collate_fn=packhouse.collate.PaddingFree(),
        )

    A `torch.utils.data.IterableDataset` where torch is installed, a plain
    iterable elsewhere. It has no length: how many packs come of a source is
    known at its end; `estimate_packs` says about how many.
    """

    def __init__(
        self,
        source: Iterable[Any] | Callable[[], Iterable[Any]],
        capacity_tokens: int | Spec,
        *,
        length: str | Callable[[Any], int] | None = None,
        columns: Sequence[str] | None = None,
        shard: bool | str | None = None,
        drop_last: bool = False,
        target: str | None = None,
        remote: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> None:
        """Prepares to pack; nothing is read or connected yet.

        Args:
            source: Items: mappings of columns, or the tokens alone. A function
                is called for each epoch.
            capacity_tokens: Tokens that a pack holds, or a whole `Spec`.
            length: The column whose size is the length of an item, or a
                function of the item; "input_ids" if None.
            columns: The token-aligned columns; found in the first item if
                None.
            shard: True: each worker of a loader, on each rank, takes its own
                items of the source, every n-th; "workers": the same for the
                workers of this rank only. False: the source shards itself. It
                has to be said where there are several workers, as all of them
                would read the same items else.
            drop_last: Leave out the emptiest of the packs that the end of the
                source leaves.
            target: A server, "unix:PATH" or "HOST:PORT"; None packs in this
                process.
            remote: How it is reached: arguments of `packhouse.remote.Stream`.
            options: Those of `Spec`.

        Raises:
            ValueError: As `Spec`.
            TypeError: There is no such option, or the source is no iterable.
        """
        usable = ("__call__", "__iter__", "__getitem__")
        if not any(hasattr(source, name) for name in usable):
            raise TypeError(
                f"the source is of type {type(source).__name__}, it must be "
                "an iterable or a function that gives one"
            )
        if shard not in (None, True, False, "workers"):
            raise ValueError(
                f"shard is {shard!r}, it must be True, False or 'workers'"
            )
        if remote is not None and target is None:
            raise ValueError("remote says how a target is reached: give one")
        self.spec = make_spec(capacity_tokens, options)
        if target is None:
            Packer(self.spec)  # refuses what packs no streams
        self.source = source
        self.length = length
        self.columns = columns
        self.shard = shard
        self.drop_last = drop_last
        self.target = target
        self.remote = dict(remote or {})
        self._epochs = 0
        self._iterator: PackIterator | None = None
        self._resume: dict[str, Any] | None = None

    def __iter__(self) -> PackIterator:
        """Begins an epoch, or goes on where a loaded state was."""
        self._iterator = PackIterator(self, *_shard_of(self.shard))
        if self._resume is not None:
            state, self._resume = self._resume, None
            self._iterator.restore(state)
        return self._iterator

    def set_epoch(self, epoch: int) -> None:
        """Tells the source, if it wants to know."""
        if hasattr(self.source, "set_epoch"):
            self.source.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Where the current epoch is, counted in packs that were yielded.

        Holds what the packer knows and which items it waits for, not the items
        themselves, which are read again (a source that has `state_dict` and
        `load_state_dict` itself is asked instead, and the items are in the
        state). Plain values and bytes.
        """
        if self._resume is not None:
            return self._resume
        if self._iterator is None:
            return PackIterator(self, *_shard_of(self.shard)).save()
        return self._iterator.save()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The next epoch that begins goes on where the state was saved.

        Raises:
            ValueError: The state is of another spec or version; what differs
                is named. (That it is of other workers shows when the epoch
                begins.)
        """
        check_state(state, _STATE_VERSION, self.spec)
        self._resume = state

    def estimate_packs(self, sample: int = 4096) -> int:
        """About how many packs an epoch has, over all workers and ranks.

        Packs the first items of the source in this process and scales their
        packs up to all of them: an estimate for schedules and progress, which
        the epoch will not meet exactly.

        Args:
            sample: Items that are read, from 1 on.

        Raises:
            TypeError: The source has no length.
            ValueError: The source is empty, or `sample` is below 1.
        """
        if sample < 1:
            raise ValueError(f"sample is {sample}, it must be at least 1")
        if not hasattr(self.source, "__len__"):
            raise TypeError(
                f"the source, a {type(self.source).__name__}, has no length: "
                "nothing can be said of how many packs it has"
            )
        items: Any = self.source
        count = len(items)
        reader = ItemReader(self.length, self.columns)
        lengths = [
            reader.read(item, i)[0]
            for i, item in enumerate(itertools.islice(iter(items), sample))
        ]
        if not lengths:
            raise ValueError("the source is empty")
        packs = plan(lengths, self.spec)
        return math.ceil(len(packs) * count / len(lengths))

    def begin_source(self) -> Iterable[Any]:
        """The source of a new epoch.

        Raises:
            RuntimeError: It is an iterator, and was used up by an epoch.
        """
        self._epochs += 1
        if callable(self.source) and not hasattr(self.source, "__iter__"):
            return self.source()
        if isinstance(self.source, Iterator) and self._epochs > 1:
            raise RuntimeError(
                "the source is an iterator, which an earlier epoch has used "
                "up: give an iterable, such as a list, or a function that "
                "gives a new iterator"
            )
        return self.source

    def make_packer(self) -> PackSource:
        """The packer of a new epoch."""
        if self.target is None:
            return Packer(self.spec)
        from packhouse.remote import Stream  # noqa: PLC0415

        return Stream(self.target, self.spec, **self.remote)

    def __getstate__(self) -> dict[str, Any]:
        # A worker begins an epoch of its own.
        return {**self.__dict__, "_iterator": None}

    def __repr__(self) -> str:
        where = f", target={self.target!r}" if self.target else ""
        return f"<PackedDataset: {self.spec!r}{where}, shard={self.shard!r}>"


class PackIterator:
    """One epoch of a `PackedDataset`."""

    def __init__(self, dataset: PackedDataset, index: int, count: int) -> None:
        self._dataset = dataset
        self._shard = (index, count)
        self._spec = dataset.spec
        self._reader = ItemReader(dataset.length, dataset.columns)
        self._source: Any = None
        self._items: Iterator[Any] | None = None
        self._packer = dataset.make_packer()
        # By ordinal, the items of which a unit is not in a decided pack yet.
        self._waiting: dict[int, _Item] = {}
        self._ready: collections.deque[_DecidedPacks] = collections.deque()
        self._next = 0  # pack of the first of them
        self._finished = False
        self._error: Exception | None = None
        self._fatal = False
        self._yielded = 0

    def __iter__(self) -> PackIterator:
        return self

    def __next__(self) -> Pack:
        """The next pack.

        Raises:
            StopIteration: All were yielded.
            Exception: What the source raised, or what is wrong with an item,
                after the packs that were decided before it. What the source
                raised is raised once: who goes on asks the source again.
        """
        while not self._ready:
            if self._error is not None:
                error = self._error
                if not self._fatal:
                    self._error = None
                raise error
            if self._finished:
                raise StopIteration
            self._read()
        decided = self._ready[0]
        pack = decided.pack(self._next)
        self._next += 1
        if self._next == decided.count:
            self._ready.popleft()
            self._next = 0
        self._yielded += 1
        return pack

    # ------------------------------------------------------------- reading --

    def _read(self) -> None:
        """Gives the packer the next items; at the end, finishes it."""
        if self._items is None:
            self._items = self._begin(0)
        first = self._packer.sequences
        items: list[_Item] = []
        ended = False
        try:
            for item in itertools.islice(self._items, _READ_AHEAD):
                items.append(self._reader.read(item, first + len(items)))
            ended = len(items) < _READ_AHEAD
        except ItemError as error:
            self._error, self._fatal = error, True
        except Exception as error:
            self._error = error
        self._give(first, items)
        if ended and self._error is None:
            self._finish()

    def _give(self, first: int, items: list[_Item]) -> None:
        """Gives items to the packer, up to the first that it refuses."""
        if not items:
            return
        lengths = [item[0] for item in items]
        try:
            packs = self._packer.add(lengths)
        except ValueError as error:
            if len(items) == 1:
                self._error, self._fatal = error, True
                return
            for i, item in enumerate(items):
                self._give(first + i, [item])
                if self._fatal:
                    return
            return
        self._waiting.update(
            zip(range(first, first + len(items)), items)  # noqa: B905
        )
        self._count_units(first, lengths)
        self._keep(packs)

    def _count_units(self, first: int, lengths: list[int]) -> None:
        """How many units come of each, where a policy may say other than 1."""
        if self._spec.overlong == "error" and self._spec.empty == "error":
            return
        counts = _core.unit_counts(
            np.array(lengths, np.uint32), self._spec.native
        )
        for i in np.flatnonzero(counts != 1).tolist():
            length, columns, _ = self._waiting.pop(first + i)
            if counts[i]:
                self._waiting[first + i] = length, columns, int(counts[i])

    def _finish(self) -> None:
        packs = self._packer.finish()
        self._finished = True
        if self._dataset.drop_last and len(packs) > 0:
            packs = self._without_emptiest(packs)
        self._keep(packs)

    def _without_emptiest(self, packs: Packs) -> Packs:
        ordinals = packs.ordinals.tolist()
        begins = _begins_of(packs)
        lengths = np.array([self._waiting[o][0] for o in ordinals], np.int64)
        tokens = np.minimum(lengths - begins, self._spec.longest_piece)
        offsets = packs.offsets.astype(np.int64)
        emptiest = int(np.add.reduceat(tokens, offsets[:-1]).argmin())
        begin, end = int(offsets[emptiest]), int(offsets[emptiest + 1])
        for ordinal in ordinals[begin:end]:
            self._use(ordinal)
        units = np.s_[begin:end]
        offsets[emptiest + 1 :] -= end - begin
        return Packs(
            self._spec,
            np.delete(packs.ordinals, units),
            np.delete(offsets, emptiest).astype(np.uint64),
            np.delete(begins, units),
        )

    def _keep(self, packs: Packs) -> None:
        if len(packs) > 0:
            items = [self._use(o) for o in packs.ordinals.tolist()]
            self._ready.append(_DecidedPacks(packs, items, self._reader))

    def _use(self, ordinal: int) -> _Item:
        """What waits under the ordinal, of which one unit less is to come."""
        item = self._waiting.pop(ordinal)
        length, columns, units = item
        if units > 1:
            self._waiting[ordinal] = length, columns, units - 1
        return item

    # -------------------------------------------------------------- states --

    def _begin(self, ordinal: int) -> Iterator[Any]:
        """The items of the shard from this ordinal on."""
        self._source = self._dataset.begin_source()
        index, count = self._shard
        return itertools.islice(
            _iterate_from(self._source, index + ordinal * count),
            0,
            None,
            count,
        )

    def _needed(self) -> dict[int, _Item]:
        """The items of all units that were not yielded, with how many."""
        needed = dict(self._waiting)
        for i, decided in enumerate(self._ready):
            for ordinal, item in decided.after(self._next if i == 0 else 0):
                length, columns, _ = item
                units = needed[ordinal][2] if ordinal in needed else 0
                needed[ordinal] = length, columns, units + 1
        return dict(sorted(needed.items()))

    # Not named as a loader would look for them: it would load both this state
    # and that of the dataset.

    def save(self) -> dict[str, Any]:
        """See `PackedDataset.state_dict`."""
        needed = self._needed()
        state: dict[str, Any] = {
            "version": _STATE_VERSION,
            "spec": self._spec.as_dict(),
            "shard": list(self._shard),
            "given": self._packer.sequences,
            "yielded": self._yielded,
            "packer": None if self._finished else self._packer.state_dict(),
            "ready": [
                decided.as_lists(self._next if i == 0 else 0)
                for i, decided in enumerate(self._ready)
            ],
            "needed": [[o, item[0], item[2]] for o, item in needed.items()],
        }
        if _is_stateful(self._source):
            state["source"] = self._source.state_dict()
            state["items"] = [dict(item[1]) for item in needed.values()]
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on where an iterator of the same source and shard was.

        Raises:
            ValueError: The state is of other workers, or the source has not
                the items that it had.
        """
        check_state(state, _STATE_VERSION, self._spec)
        if list(state["shard"]) != list(self._shard):
            index, count = state["shard"]
            raise ValueError(
                f"the state is of reader {index} of {count}, this is reader "
                f"{self._shard[0]} of {self._shard[1]}: the numbers of ranks "
                "and workers must be what they were"
            )
        if state["packer"] is not None:
            self._packer.load_state_dict(state["packer"])
        if "source" in state:
            self._restore_items(state)
        else:
            self._read_again(state)
        self._finished = state["packer"] is None
        self._yielded = state["yielded"]
        for columns in state["ready"]:
            self._keep(_packs_of_lists(self._spec, columns))

    def _restore_items(self, state: dict[str, Any]) -> None:
        """Of a source that knows itself where it was."""
        self._source = self._dataset.begin_source()
        if not _is_stateful(self._source):
            raise ValueError(
                "the state holds that of the source, which has no "
                "load_state_dict now"
            )
        self._source.load_state_dict(state["source"])
        self._items = itertools.islice(
            iter(self._source), 0, None, self._shard[1]
        )
        for (ordinal, _, units), item in zip(
            state["needed"], state["items"], strict=True
        ):
            length, columns, _ = self._reader.read(item, ordinal)
            self._waiting[ordinal] = length, columns, units

    def _read_again(self, state: dict[str, Any]) -> None:
        """The items that packs wait for, from a source that begins anew."""
        needed = {o: (length, units) for o, length, units in state["needed"]}
        given = state["given"]
        first = min(needed, default=given)
        self._items = self._begin(first)
        for ordinal in range(first, given):
            try:
                item = next(self._items)
            except StopIteration:
                raise ValueError(
                    f"the source ends at item {ordinal} of its shard, the "
                    f"state was saved behind item {given - 1}"
                ) from None
            if ordinal not in needed:
                continue
            length, columns, _ = self._reader.read(item, ordinal)
            if length != needed[ordinal][0]:
                raise ValueError(
                    f"item {ordinal} has length {length}, it had "
                    f"{needed[ordinal][0]} when the state was saved: this is "
                    "another source, or one in another order"
                )
            self._waiting[ordinal] = length, columns, needed[ordinal][1]


class _DecidedPacks:
    """Packs that were decided together, with the values of all their units.

    Values are put one after another once for all of them: a pack is a part.
    """

    def __init__(
        self, packs: Packs, items: list[_Item], reader: ItemReader
    ) -> None:
        self._spec = packs.spec
        self._items = items
        self._ordinals = packs.ordinals
        begins = _begins_of(packs)
        lengths = np.array([item[0] for item in items], np.int64)
        tokens = np.minimum(lengths - begins, packs.spec.longest_piece)
        self._begins = begins
        self._tokens = tokens.astype(np.uint32)
        self._offsets: list[int] = packs.offsets.tolist()
        self._places = [0, *np.cumsum(tokens).tolist()]
        cut = np.flatnonzero(tokens != lengths).tolist()
        self._columns = {}
        for name in reader.columns:
            parts = [item[1][name] for item in items]
            for i in cut:
                parts[i] = parts[i][begins[i] : int(begins[i]) + int(tokens[i])]
            self._columns[name] = gather(parts)
        self._extras = {
            name: [item[1].get(name) for item in items]
            for name in reader.extras
        }
        self.count = len(packs)

    def pack(self, i: int) -> Pack:
        """Pack i."""
        begin, end = self._offsets[i], self._offsets[i + 1]
        first, last = self._places[begin], self._places[end]
        return Pack(
            {name: all_[first:last] for name, all_ in self._columns.items()},
            {name: all_[begin:end] for name, all_ in self._extras.items()},
            self._tokens[begin:end],
            self._ordinals[begin:end],
            self._begins[begin:end],
            self._spec.capacity_tokens,
            self._spec.alignment,
        )

    def after(self, first: int) -> Iterator[tuple[int, _Item]]:
        """(ordinal, item) of each unit from pack `first` on."""
        begin = self._offsets[first]
        return zip(  # noqa: B905 - columns of one length
            self._ordinals[begin:].tolist(), self._items[begin:]
        )

    def as_lists(self, first: int) -> list[list[int]]:
        """Ordinals, offsets and source offsets from pack `first` on."""
        begin = self._offsets[first]
        return [
            self._ordinals[begin:].tolist(),
            [offset - begin for offset in self._offsets[first:]],
            self._begins[begin:].tolist(),
        ]


def _begins_of(packs: Packs) -> npt.NDArray[np.uint32]:
    """Where in its item each unit begins."""
    if packs.source_offsets is None:
        return np.zeros(len(packs.ordinals), np.uint32)
    return packs.source_offsets


def _packs_of_lists(spec: Spec, columns: list[list[int]]) -> Packs:
    ordinals, offsets, begins = columns
    return Packs(
        spec,
        np.array(ordinals, np.uint64),
        np.array(offsets, np.uint64),
        np.array(begins, np.uint32),
    )


def _is_stateful(source: Any) -> bool:
    return hasattr(source, "state_dict") and hasattr(source, "load_state_dict")


def _iterate_from(source: Any, first: int) -> Iterator[Any]:
    """The items of a source from number `first` on.

    Sequences are read from there; of other sources the items before are read
    and left.
    """
    if first == 0 and hasattr(source, "__iter__"):
        return iter(source)
    if hasattr(source, "__getitem__") and hasattr(source, "__len__"):
        return (source[i] for i in range(first, len(source)))
    return itertools.islice(iter(source), first, None)


def _shard_of(shard: bool | str | None) -> tuple[int, int]:
    """Which reader this process is, of how many.

    Raises:
        RuntimeError: There are several workers, and nobody said whether the
            source shards itself.
    """
    worker, workers = _worker()
    if shard is None and workers > 1:
        raise RuntimeError(
            f"each of the {workers} workers of the loader would read all items "
            "of the source: PackedDataset needs shard=True (each takes its "
            "own) or shard=False (the source shards itself)"
        )
    if not shard:
        return 0, 1
    rank, ranks = (0, 1) if shard == "workers" else this_rank()
    index, count = rank * workers + worker, ranks * workers
    if count > 1:
        _log.info("reader %d of %d takes every %dth item", index, count, count)
    return index, count


def _worker() -> tuple[int, int]:
    if _Base is object:
        return 0, 1
    from torch.utils.data import get_worker_info  # noqa: PLC0415

    info = get_worker_info()
    return (0, 1) if info is None else (info.id, info.num_workers)
