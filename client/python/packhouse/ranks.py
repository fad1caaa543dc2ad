"""Which process this is, of how many."""

from __future__ import annotations

import os
import sys


def this_rank() -> tuple[int, int]:
    """The rank of this process, and how many there are.

    That of torch.distributed where it is initialised, else that of the
    variables RANK and WORLD_SIZE, which launchers set; else 0 of 1.

    Raises:
        ValueError: These variables are no such numbers.
    """
    distributed = sys.modules.get("torch.distributed")
    if (
        distributed is not None
        and distributed.is_available()
        and distributed.is_initialized()
    ):
        return distributed.get_rank(), distributed.get_world_size()
    said = os.environ.get("RANK", "0"), os.environ.get("WORLD_SIZE", "1")
    if not all(number.isdigit() for number in said):
        raise ValueError(
            f"RANK is {said[0]!r} and WORLD_SIZE {said[1]!r}: they must be "
            "whole numbers"
        )
    return int(said[0]), int(said[1])
