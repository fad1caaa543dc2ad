"""Packing a whole list in one call."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from packhouse import _core
from packhouse.lengths import Lengths, as_lengths
from packhouse.packs import Packs
from packhouse.spec import Spec, make_spec

_log = logging.getLogger("packhouse")


# Sequences between two reports of progress: some milliseconds.
_SLICE = 1 << 18

Progress = Callable[[int, int], None]


def plan(
    lengths: npt.ArrayLike,
    capacity_tokens: int | Spec,
    *,
    progress: bool | Progress = False,
    **options: Any,
) -> Packs:
    """Packs a whole list of sequences.

        packs = packhouse.plan([200, 512, 312], 512, algorithm="best")
        packs.as_lists()  # [[0, 2], [1]] or [[1], [0, 2]]

    Args:
        lengths: Integers [n], the tokens of each sequence. A contiguous uint32
            array is read where it lies.
        capacity_tokens: Tokens that a pack holds, or a whole `Spec`.
        progress: True: a line on standard error says how far it is; or a
            function that is called with the sequences taken and their number.
            Of rules that pack streams: those that look at the whole list at
            once say nothing before they are done.
        options: Those of `Spec`, such as `algorithm="best"`.

    Returns:
        The packs, which know the lengths. `notes` has what "best" says of its
        plan: `lower_bound_packs`, `found_by`, `lp_available`, `is_cut_short`.

    Raises:
        ValueError: As `Spec`, or a length that the policies refuse: the first
            few are named, with the limit and how many there are.
        TypeError: Lengths are not integers, or there is no such option.
    """
    spec = make_spec(capacity_tokens, options)
    array = as_lengths(lengths)
    if progress and _core.is_online(spec.algorithm):
        report = _print_progress() if progress is True else progress
        columns = _plan_in_slices(array, spec, report)
        return Packs(spec, *columns, sequence_lengths=array)
    columns, notes = _core.plan(array, spec.native)
    if notes["is_cut_short"]:
        _log.info("best was cut short by its budget of %s s", spec.budget or 1)
    return Packs(
        spec,
        *columns,
        sequence_lengths=array,
        notes=notes if spec.algorithm == "best" else {},
    )


def _plan_in_slices(
    lengths: Lengths, spec: Spec, report: Progress
) -> tuple[Any, ...]:
    """The columns that `_core.plan` gives, made piece by piece."""
    packer = _core.Packer(spec.native)
    parts = []
    for begin in range(0, len(lengths), _SLICE):
        parts.append(packer.add(lengths[begin : begin + _SLICE]))
        report(min(begin + _SLICE, len(lengths)), len(lengths))
    parts.append(packer.finish())
    ends = np.cumsum([0] + [len(ordinals) for ordinals, _, _ in parts])
    offsets = [
        part[1:] + np.uint64(base)
        for (_, part, _), base in zip(parts, ends[:-1], strict=True)
    ]
    begins = [
        np.zeros(len(ordinals), np.uint32) if begins is None else begins
        for ordinals, _, begins in parts
    ]
    return (
        np.concatenate([ordinals for ordinals, _, _ in parts]),
        np.concatenate([np.zeros(1, np.uint64), *offsets]),
        np.concatenate(begins)
        if any(part[2] is not None for part in parts)
        else None,
    )


def _print_progress() -> Progress:
    """Writes over one line of standard error, some times a second."""
    start = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done < total and now - last < 0.1:
            return
        last = now
        speed = done / max(now - start, 1e-9) / 1e6
        end = "\n" if done == total else ""
        text = f"packing: {done / total:4.0%}, {speed:.1f} M sequences/s"
        print(f"\r{text}", end=end, file=sys.stderr, flush=True)

    return report
