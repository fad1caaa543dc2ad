"""What the tests of the Python package share: they run the installed one."""

import numpy as np
import pytest


@pytest.fixture
def random():
    """Numbers that are the same in every run."""
    return np.random.default_rng(7)


def check_packs(packs, lengths):
    """By the definition: each sequence once, no pack over its capacity."""
    seen = [ordinal for pack in packs.as_lists() for ordinal in pack]
    assert sorted(seen) == list(range(len(lengths)))
    for pack in packs.as_lists():
        assert pack == sorted(pack)
        assert sum(lengths[i] for i in pack) <= packs.spec.capacity_tokens
