"""Packs sequences of different lengths into rows of a fixed capacity.

    packs = packhouse.plan(lengths, 4096)      # a whole list
    packer = packhouse.Packer(4096)            # a stream

Nothing here imports torch or gRPC until it is asked for what needs it.
"""

from packhouse.packer import Packer
from packhouse.packs import Packs
from packhouse.planning import plan
from packhouse.spec import Spec, algorithms

__all__ = ["Packer", "Packs", "Spec", "algorithms", "plan"]
