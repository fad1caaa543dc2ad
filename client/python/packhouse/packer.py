"""Packing a stream in this process."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from packhouse import _core
from packhouse.lengths import as_lengths
from packhouse.packs import Packs
from packhouse.spec import Spec, make_spec

_STATE_VERSION = 1


class Packer:
    """Takes lengths in pieces of any size; gives packs once they are decided.

        packer = packhouse.Packer(512, window=256)
        for lengths in stream:
            for pack in packer.add(lengths):
                ...
        for pack in packer.finish():
            ...

    It does no input or output and starts no thread. Threads may share one:
    their calls take turns.
    """

    def __init__(self, capacity_tokens: int | Spec, **options: Any) -> None:
        """Begins a stream.

        Args:
            capacity_tokens: Tokens that a pack holds, or a whole `Spec`.
            options: Those of `Spec`.

        Raises:
            ValueError: As `Spec`; also for a rule that packs whole lists only.
            TypeError: There is no such option.
        """
        self.spec = make_spec(capacity_tokens, options)
        self._packer = _core.Packer(self.spec.native)

    def add(self, lengths: npt.ArrayLike) -> Packs:
        """Gives the next sequences of the stream.

        They get the ordinals from `sequences` on. On an error none is taken.

        Args:
            lengths: Integers [n], the tokens of each.

        Returns:
            The packs that are now decided, of these or earlier sequences.

        Raises:
            ValueError: The policies refuse a length; the first few are named.
            RuntimeError: The stream was finished.
        """
        return Packs(self.spec, *self._packer.add(as_lengths(lengths)))

    def flush(self) -> Packs:
        """Closes the window early: nothing is pending afterwards."""
        return Packs(self.spec, *self._packer.flush())

    def finish(self) -> Packs:
        """Ends the stream: as `flush`, and nothing more may be added."""
        return Packs(self.spec, *self._packer.finish())

    @property
    def sequences(self) -> int:
        """Sequences taken so far: the ordinal of the next."""
        return self._packer.sequences

    @property
    def pending(self) -> int:
        """Sequences (or pieces) that are not in a pack yet."""
        return self._packer.pending_units

    @property
    def oldest_pending_ordinal(self) -> int:
        """No later pack holds a sequence before it."""
        return self._packer.oldest_pending_ordinal

    def state_dict(self) -> dict[str, Any]:
        """All that later packs depend on: plain values and bytes.

        About 2 to 6 bytes for each pending sequence, and 700 beside them.
        """
        return {
            "version": _STATE_VERSION,
            "spec": self.spec.as_dict(),
            "packer": self._packer.save(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on where the packer with this state was.

        Raises:
            ValueError: The state is of another spec (what differs is named),
                of another version, or damaged. Nothing has changed then.
        """
        check_state(state, _STATE_VERSION, self.spec)
        saved = state.get("packer")
        if not isinstance(saved, bytes):
            raise ValueError(
                "the state is damaged: its packer is of type "
                f"{type(saved).__name__}, it must be bytes"
            )
        self._packer = _core.Packer(self.spec.native, saved)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Packer:
        """A packer of the state's own spec that goes on from there.

        Raises:
            ValueError: The state is of another version, or damaged.
        """
        packer = cls(_spec_of(_checked(state, _STATE_VERSION)))
        packer.load_state_dict(state)
        return packer

    def __repr__(self) -> str:
        return (
            f"<Packer: {self.sequences} sequences taken, {self.pending} "
            f"pending, {self.spec!r}>"
        )


def check_state(state: dict[str, Any], version: int, spec: Spec) -> None:
    """Refuses a state of another version or spec.

    Raises:
        ValueError: With what differs.
    """
    difference = spec.difference(_spec_of(_checked(state, version)))
    if difference:
        raise ValueError(f"the state is of another spec: {difference}")


def _checked(state: Any, version: int) -> dict[str, Any]:
    """The state, if it is one of this version.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(state, dict) or "spec" not in state:
        raise ValueError(f"this is no saved state: {type(state).__name__}")
    if state.get("version") != version:
        raise ValueError(
            f"the state is of version {state.get('version')}, this package "
            f"reads version {version}"
        )
    return state


def _spec_of(state: dict[str, Any]) -> Spec:
    """The spec that a state names.

    Raises:
        ValueError: It names none.
    """
    try:
        return Spec(**state["spec"])
    except TypeError as error:
        raise ValueError(f"the state's spec is damaged: {error}") from None
