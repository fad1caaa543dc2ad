"""Packs sequences of different lengths into rows of a fixed capacity.

    packs = packhouse.plan(lengths, 4096)                  # a whole list
    packer = packhouse.Packer(4096)                        # a stream of lengths
    dataset = packhouse.PackedDataset(items, 4096)         # a loader's items

Nothing here imports torch or gRPC until it is asked for what needs it.
"""

import importlib
from typing import TYPE_CHECKING, Any

from packhouse.packer import Packer
from packhouse.packs import Packs
from packhouse.planning import plan
from packhouse.spec import Spec, algorithms

if TYPE_CHECKING:
    from packhouse import collate, masks, remote
    from packhouse.dataset import PackedDataset
    from packhouse.items import Pack
    from packhouse.sampler import PackedBatchSampler, PlannedDataset

__all__ = [
    "Pack",
    "PackedBatchSampler",
    "PackedDataset",
    "Packer",
    "Packs",
    "PlannedDataset",
    "Spec",
    "algorithms",
    "collate",
    "masks",
    "plan",
    "remote",
]

__version__: str

_MODULES = ("collate", "masks", "remote")
_NAMES = {
    "Pack": "items",
    "PackedBatchSampler": "sampler",
    "PackedDataset": "dataset",
    "PlannedDataset": "sampler",
}


def __getattr__(name: str) -> Any:
    """Imports what is heavy once it is asked for."""
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version(
            "packhouse"
        )
    if name in _MODULES:
        return importlib.import_module(f"packhouse.{name}")
    if name in _NAMES:
        module = importlib.import_module(f"packhouse.{_NAMES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'packhouse' has no attribute {name!r}")


def __dir__() -> list[str]:
    """All names, also of what was not asked for yet."""
    return sorted({*globals(), *__all__, "__version__"})
