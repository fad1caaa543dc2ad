"""Packing a whole list in one call."""

from __future__ import annotations

import logging
from typing import Any

import numpy.typing as npt

from packhouse import _core
from packhouse.lengths import as_lengths
from packhouse.packs import Packs
from packhouse.spec import Spec, make_spec

_log = logging.getLogger("packhouse")


def plan(
    lengths: npt.ArrayLike, capacity_tokens: int | Spec, **options: Any
) -> Packs:
    """Packs a whole list of sequences.

        packs = packhouse.plan([200, 512, 312], 512, algorithm="best")
        packs.as_lists()  # [[0, 2], [1]] or [[1], [0, 2]]

    Args:
        lengths: Integers [n], the tokens of each sequence. A contiguous uint32
            array is read where it lies.
        capacity_tokens: Tokens that a pack holds, or a whole `Spec`.
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
    columns, notes = _core.plan(array, spec.native)
    if notes["is_cut_short"]:
        _log.info("best was cut short by its budget of %s s", spec.budget or 1)
    return Packs(
        spec,
        *columns,
        sequence_lengths=array,
        notes=notes if spec.algorithm == "best" else {},
    )
