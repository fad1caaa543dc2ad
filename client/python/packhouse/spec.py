"""What a packer is asked to do."""

from __future__ import annotations

import dataclasses
import numbers
from typing import Any

from packhouse import _core


@dataclasses.dataclass(frozen=True, repr=False)
class Spec:
    """The capacity of a pack, the rule that fills it, and the limits in it.

    Packs are a function of the spec, of the lengths in their order and of
    where the stream was flushed, and of nothing else. Options have the names
    of the command line; docs/packing.md and docs/offline.md say what each rule
    does.

    Attributes:
        capacity_tokens: Tokens that a pack holds, 1 to 2**31 - 1.
        algorithm: The packing rule, one of `packhouse.algorithms()`.
        window: Sequences that are looked at together. Whole-list rules look at
            all of them, whatever it says.
        max_sequences: Sequences that a pack may hold; 0 for no limit.
        alignment: Multiple that each sequence is rounded up to, in tokens.
        overlong: What becomes of a sequence over the capacity: "error",
            "drop", "truncate" (keeps the head), "truncate_head" or "split".
        empty: What becomes of a sequence without tokens: "error" or "drop".
        seed: If given, the packs of each window are released in a
            pseudo-random order that depends on it.
        effort: Of "sliding": "fast", "balanced" or "thorough".
        max_displacement: Of "sliding": no sequence waits for more later ones
            than this; 0 for 4 windows.
        budget: Of "best": seconds that it may search; 0 for one.

    Raises:
        ValueError: One or more values are out of range; all are named, each
            with its value and the limit.
        TypeError: A value has another type.
    """

    capacity_tokens: int
    algorithm: str = "spfhp"
    window: int = 1024
    max_sequences: int = 0
    alignment: int = 1
    overlong: str = "error"
    empty: str = "error"
    seed: int | None = None
    effort: str = "balanced"
    max_displacement: int = 0
    budget: float = 0.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = _plain(
                field.name, str(field.type), getattr(self, field.name)
            )
            object.__setattr__(self, field.name, value)
        native = _core.PackSpec(**self.as_dict())
        object.__setattr__(self, "_native", native)

    @property
    def native(self) -> _core.PackSpec:
        """The same for the extension."""
        return self._native  # type: ignore[attr-defined,no-any-return]

    @property
    def longest_piece(self) -> int:
        """The longest sequence that fits a pack, in tokens."""
        return self.capacity_tokens // self.alignment * self.alignment

    def as_dict(self) -> dict[str, Any]:
        """The fields by name, as plain values that JSON can hold."""
        return {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
        }

    def difference(self, other: Spec) -> str:
        """Where `other` differs, as "window is 64, not 128"; "" if nowhere."""
        mine, others = self.as_dict(), other.as_dict()
        return ", ".join(
            f"{name} is {others[name]!r}, not {mine[name]!r}"
            for name in mine
            if mine[name] != others[name]
        )

    def __repr__(self) -> str:
        said = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)[1:]
            if getattr(self, field.name) != field.default
        ]
        return f"Spec({', '.join([str(self.capacity_tokens), *said])})"

    def __reduce__(self) -> tuple[type[Spec], tuple[Any, ...]]:
        return Spec, tuple(self.as_dict().values())


def _plain(name: str, kind: str, value: Any) -> Any:
    """The value as Python's own type of the field, for states and reprs.

    Raises:
        TypeError: It is of another type.
        ValueError: It is an integer that no option can have.
    """
    if kind == "str":
        wanted, fits = "a string", isinstance(value, str)
    elif kind == "float":
        wanted, fits = "a number", isinstance(value, numbers.Real)
    elif kind == "int | None" and value is None:
        return None
    else:
        wanted, fits = "an integer", isinstance(value, numbers.Integral)
    if not fits or isinstance(value, bool):
        raise TypeError(
            f"{name} is {value!r} of type {type(value).__name__}, it must be "
            f"{wanted}"
        )
    if kind == "str":
        return str(value)
    if kind == "float":
        return float(value)
    least, most = (0, 2**64 - 1) if name == "seed" else (-(2**63), 2**63 - 1)
    if not least <= value <= most:
        raise ValueError(
            f"{name} is {value}, it must be from {least} to {most}"
        )
    return int(value)


def make_spec(capacity_tokens: int | Spec, options: dict[str, Any]) -> Spec:
    """The spec of a call that takes one, or a capacity and options.

    Raises:
        TypeError: There is no such option, or a spec and options were given.
        ValueError: As `Spec`.
    """
    if isinstance(capacity_tokens, Spec):
        if options:
            raise TypeError(
                f"a Spec and options ({', '.join(sorted(options))}) were "
                "given: give one of them"
            )
        return capacity_tokens
    known = [field.name for field in dataclasses.fields(Spec)][1:]
    for name in options:
        if name not in known:
            raise TypeError(
                f"there is no option {name!r}, there are: {', '.join(known)}"
            )
    return Spec(capacity_tokens, **options)


def algorithms(online: bool | None = None) -> list[str]:
    """The names of the packing rules.

    Args:
        online: If given, only those that pack streams (True), or those that
            pack whole lists only (False).
    """
    return [
        name
        for name in _core.algorithm_names()
        if online is None or _core.is_online(name) == online
    ]
