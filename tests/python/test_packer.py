import concurrent.futures
import pickle

import numpy as np
import packhouse
import pytest


def test_packs_come_once_they_are_decided():
    packer = packhouse.Packer(10, window=4)
    assert packer.add([5, 3, 8]).as_lists() == []
    assert packer.pending == 3
    assert packer.add([2, 6]).as_lists() == [[0, 1], [2, 3]]
    assert packer.oldest_pending_ordinal == 4
    assert packer.flush().as_lists() == [[4]]
    assert packer.flush().as_lists() == []
    assert packer.sequences == 5
    assert packer.finish().as_lists() == []
    with pytest.raises(RuntimeError, match="finish"):
        packer.add([1])


def test_a_refused_piece_changes_nothing():
    packer = packhouse.Packer(10, window=4)
    with pytest.raises(ValueError, match="ordinal 2 has length 11"):
        packer.add([1, 2, 11])
    assert packer.sequences == 0
    assert packer.add([1, 2, 3, 4]).as_lists() == [[0, 1, 2, 3]]


def test_whole_list_rules_are_refused():
    with pytest.raises(ValueError, match="best"):
        packhouse.Packer(10, algorithm="best")


@pytest.mark.parametrize("algorithm", packhouse.algorithms(online=True))
def test_resume_at_every_place(algorithm, random):
    lengths = random.integers(1, 200, 300)
    spec = packhouse.Spec(100, algorithm=algorithm, window=16, overlong="split")
    whole = packhouse.plan(lengths, spec).as_lists()
    for cut in range(0, 300, 23):
        first = packhouse.Packer(spec)
        seen = first.add(lengths[:cut]).as_lists()
        state = pickle.loads(pickle.dumps(first.state_dict()))
        second = packhouse.Packer.from_state(state)
        seen += second.add(lengths[cut:]).as_lists()
        seen += second.finish().as_lists()
        assert seen == whole


def test_states_that_do_not_fit():
    packer = packhouse.Packer(10, window=4)
    packer.add([1, 2])
    state = packer.state_dict()
    other = packhouse.Packer(10, window=8)
    with pytest.raises(ValueError, match="window is 4, not 8"):
        other.load_state_dict(state)
    with pytest.raises(ValueError, match="version 9"):
        packer.load_state_dict({**state, "version": 9})
    damaged = bytearray(state["packer"])
    damaged[-1] ^= 1
    with pytest.raises(ValueError, match="state"):
        packer.load_state_dict({**state, "packer": bytes(damaged)})
    with pytest.raises(ValueError, match="no saved state: bytes"):
        packer.load_state_dict(b"")
    for wrong in (None, {}, []):
        with pytest.raises(ValueError, match="no saved state"):
            packhouse.Packer.from_state(wrong)
    without = {name: state[name] for name in ("version", "spec")}
    for saved in ({}, {"packer": "x"}, {"packer": bytearray(b"x")}):
        with pytest.raises(ValueError, match="its packer is of type"):
            packer.load_state_dict({**without, **saved})
    for spec in (5, {**state["spec"], "new": 1}, {"window": 4}):
        with pytest.raises(ValueError, match="spec is damaged"):
            packer.load_state_dict({**state, "spec": spec})
        # Another version may well have other options: that is said first.
        with pytest.raises(ValueError, match="version 9"):
            packer.load_state_dict({**state, "spec": spec, "version": 9})
    assert packer.pending == 2


def test_threads_take_turns(random):
    """Whatever the order of the threads, each sequence is packed once."""
    packer = packhouse.Packer(100, window=32)
    parts = [random.integers(1, 101, 500) for _ in range(16)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        packs = [*pool.map(packer.add, parts), packer.finish()]
    ordinals = np.concatenate([part.ordinals for part in packs])
    assert sorted(ordinals.tolist()) == list(range(8000))


def test_a_state_is_of_between_two_calls(random):
    """A checkpoint may be taken while another thread adds."""
    packer = packhouse.Packer(100, window=1 << 20)
    part = random.integers(1, 101, 50_000).astype(np.uint32)
    taken = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        adding = pool.submit(lambda: [packer.add(part) for _ in range(20)])
        while not adding.done():
            state = packer.state_dict()
            taken.append(packhouse.Packer.from_state(state).sequences)
            assert packer.pending <= 20 * len(part)
        adding.result()
    assert taken == sorted(taken)
    assert all(sequences % len(part) == 0 for sequences in taken)


def test_repr_tells():
    packer = packhouse.Packer(10, window=4)
    packer.add([1])
    assert repr(packer) == (
        "<Packer: 1 sequences taken, 1 pending, Spec(10, window=4)>"
    )
