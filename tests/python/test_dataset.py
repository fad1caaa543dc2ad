import json
import pickle

import numpy as np
import packhouse
import pytest


def items_of(lengths, **extra):
    """Items whose tokens say which item and which place they are of."""
    return [
        {
            "input_ids": np.arange(length) + 1000 * i,
            "labels": -(np.arange(length) + 1000 * i),
            "name": f"item {i}",
            **extra,
        }
        for i, length in enumerate(lengths)
    ]


def check(packs, lengths, capacity):
    """Each token of each item once, in its place, in every column."""
    seen = {}
    for pack in packs:
        assert pack.tokens <= capacity
        tokens = pack.sequences("input_ids")
        labels = pack.sequences("labels")
        for i, ordinal in enumerate(pack.ordinals.tolist()):
            begin = int(pack.source_offsets[i])
            expected = 1000 * ordinal + begin + np.arange(pack.lengths[i])
            np.testing.assert_array_equal(tokens[i], expected)
            np.testing.assert_array_equal(labels[i], -expected)
            assert pack.extras["name"][i] == f"item {ordinal}"
            seen.setdefault(ordinal, []).append((begin, len(tokens[i])))
    for ordinal, parts in seen.items():
        ends = 0
        for begin, size in sorted(parts):
            assert begin == ends
            ends += size
        assert ends == lengths[ordinal]
    assert sorted(seen) == list(range(len(lengths)))


def as_values(packs):
    return [
        (
            pack.ordinals.tolist(),
            pack.source_offsets.tolist(),
            pack.columns["input_ids"].tolist(),
            pack.extras["name"],
        )
        for pack in packs
    ]


@pytest.mark.parametrize("algorithm", packhouse.algorithms(online=True))
def test_every_item_arrives_whole(algorithm, random):
    lengths = random.integers(1, 101, 700).tolist()
    dataset = packhouse.PackedDataset(
        items_of(lengths), 100, algorithm=algorithm, window=64
    )
    packs = list(dataset)
    check(packs, lengths, 100)
    plan = packhouse.plan(lengths, dataset.spec)
    assert [pack.ordinals.tolist() for pack in packs] == plan.as_lists()


def test_split_items(random):
    lengths = random.integers(1, 450, 300).tolist()
    dataset = packhouse.PackedDataset(
        items_of(lengths), 100, overlong="split", window=32
    )
    check(list(dataset), lengths, 100)


@pytest.mark.parametrize(
    ("overlong", "tokens"),
    [("drop", []), ("truncate", [0, 1, 2, 3]), ("truncate_head", [5, 6, 7, 8])],
)
def test_overlong_items(overlong, tokens):
    dataset = packhouse.PackedDataset(
        [list(range(9)), [], [7, 7]], 4, overlong=overlong, empty="drop"
    )
    parts = [
        part.tolist()
        for pack in dataset
        for part in pack.sequences("input_ids")
    ]
    assert sorted(parts) == sorted([*([tokens] if tokens else []), [7, 7]])


def test_what_items_may_be():
    as_lists = [[1, 2], [3]]
    for source in (
        as_lists,
        tuple(as_lists),
        [np.array(item) for item in as_lists],
        [{"input_ids": item} for item in as_lists],
        lambda: iter(as_lists),
        {1: [1, 2], 2: [3]}.values(),
    ):
        for _ in range(2):
            (pack,) = packhouse.PackedDataset(source, 4)
            assert pack.columns["input_ids"].tolist() == [1, 2, 3]


def test_columns_are_found_or_declared():
    item = {"input_ids": [1, 2], "mask": [0, 1], "pair": ["a", "b"], "id": 7}
    (pack,) = packhouse.PackedDataset([item], 4)
    assert list(pack.columns) == ["input_ids", "mask"]
    assert pack.extras == {"pair": [["a", "b"]], "id": [7]}
    (pack,) = packhouse.PackedDataset(
        [{"text": [5], "n": 1}], 4, length=lambda item: item["n"]
    )
    assert list(pack.columns) == ["text"]
    (pack,) = packhouse.PackedDataset(
        [{"text": [5], "more": [6]}], 4, length="text", columns=["text"]
    )
    assert list(pack.columns) == ["text"]
    assert pack.extras == {"more": [[6]]}


@pytest.mark.parametrize(
    ("item", "words"),
    [
        ({"text": [1]}, "item 2 does not have the columns 'input_ids'"),
        ({"input_ids": 5, "labels": [5]}, "input_ids .int., labels .list."),
        (
            {"input_ids": [1, 2], "labels": [1]},
            "item 2: column 'labels' has 1 values, its length is 2",
        ),
        (7, "item 2 is of type int"),
        ("text", "item 2 is of type str"),
        (
            {"input_ids": [1] * 5, "labels": [1] * 5},
            "ordinal 2 has length 5 > capacity 4",
        ),
        ({"input_ids": [], "labels": []}, "ordinal 2 has length 0"),
    ],
)
def test_wrong_items_are_named_and_nothing_before_is_lost(item, words):
    good = {"input_ids": [1, 2, 3], "labels": [1, 2, 3]}
    source = [good, good, item, good]
    reader = iter(packhouse.PackedDataset(source, 4, window=1))
    assert next(reader).ordinals.tolist() == [0]
    assert next(reader).ordinals.tolist() == [1]
    with pytest.raises(ValueError, match=words):
        next(reader)
    with pytest.raises(ValueError, match=words):
        next(reader)


def test_errors_of_the_source_come_through():
    class BrokenError(Exception):
        pass

    def source():
        yield [1, 2, 3]
        yield [4]
        raise BrokenError("disk")

    reader = iter(packhouse.PackedDataset(source, 4))
    with pytest.raises(BrokenError, match="disk"):
        next(reader)
    # What was read is there for who goes on.
    assert [pack.columns["input_ids"].tolist() for pack in reader] == [
        [1, 2, 3, 4]
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"source": 7}, TypeError, "the source is of type int"),
        ({"source": [], "shard": "rank"}, ValueError, "shard is 'rank'"),
        ({"source": [], "remote": {}}, ValueError, "give a target|give one"),
        ({"source": [], "widow": 3}, TypeError, "no option 'widow'"),
        ({"source": [], "algorithm": "best"}, ValueError, "best"),
    ],
)
def test_wrong_arguments(arguments, error, words):
    with pytest.raises(error, match=words):
        packhouse.PackedDataset(capacity_tokens=4, **arguments)


def test_an_iterator_is_good_for_one_epoch():
    dataset = packhouse.PackedDataset(iter([[1], [2]]), 4)
    assert len(list(dataset)) == 1
    with pytest.raises(RuntimeError, match="used up"):
        list(dataset)


def test_it_has_no_length():
    with pytest.raises(TypeError):
        len(packhouse.PackedDataset([[1]], 4))


def test_drop_last_leaves_out_what_was_left_over():
    lengths = [4, 4, 1, 4, 2]
    dataset = packhouse.PackedDataset(items_of(lengths), 4, drop_last=True)
    assert [pack.tokens for pack in dataset] == [4, 4, 4]
    assert list(packhouse.PackedDataset([[1]], 4, drop_last=True)) == []


class Stateful:
    """A source that knows where it is, and cannot go back."""

    def __init__(self, items):
        self.items = items
        self.place = 0

    def __iter__(self):
        while self.place < len(self.items):
            self.place += 1
            yield self.items[self.place - 1]

    def state_dict(self):
        return {"place": self.place}

    def load_state_dict(self, state):
        self.place = state["place"]


class Plain:
    """A source that begins anew each time, and cannot be indexed."""

    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


@pytest.mark.parametrize("kind", [list, Plain, Stateful])
@pytest.mark.parametrize(
    "options",
    [
        {"window": 32},
        {"algorithm": "sliding", "window": 32},
        {"window": 16, "overlong": "split"},
        {"window": 16, "seed": 3},
    ],
)
def test_resume_to_the_very_pack(kind, options, random):
    most = 300 if "overlong" in options else 100
    items = items_of(random.integers(1, most + 1, 900).tolist())

    def make():
        return packhouse.PackedDataset(kind(items), 100, **options)

    whole = as_values(make())
    for cut in range(0, len(whole) + 1, 61):
        first = make()
        reader = iter(first)
        seen = as_values(next(reader) for _ in range(cut))
        state = pickle.loads(pickle.dumps(first.state_dict()))
        second = make()
        second.load_state_dict(state)
        assert second.state_dict() == state
        assert seen + as_values(second) == whole


def test_states_are_plain_values(random):
    dataset = packhouse.PackedDataset(
        items_of(random.integers(1, 50, 400).tolist()), 100, window=32
    )
    next(iter(dataset))
    state = dataset.state_dict()
    packer = state["packer"].pop("packer")
    assert isinstance(packer, bytes)
    assert json.loads(json.dumps(state)) is not None


def test_a_state_before_anything_was_read():
    items = items_of([3, 2, 4])
    state = packhouse.PackedDataset(items, 4).state_dict()
    other = packhouse.PackedDataset(items, 4)
    other.load_state_dict(state)
    check(list(other), [3, 2, 4], 4)


def test_states_that_do_not_fit(random):
    lengths = random.integers(1, 50, 400).tolist()
    dataset = packhouse.PackedDataset(items_of(lengths), 100)
    next(iter(dataset))
    state = dataset.state_dict()
    other = packhouse.PackedDataset(items_of(lengths), 99)
    with pytest.raises(ValueError, match="capacity_tokens is 100, not 99"):
        other.load_state_dict(state)
    changed = packhouse.PackedDataset(items_of(lengths[::-1]), 100)
    changed.load_state_dict(state)
    with pytest.raises(ValueError, match="when the state was saved"):
        iter(changed)
    short = packhouse.PackedDataset(items_of(lengths[:3]), 100)
    short.load_state_dict(state)
    with pytest.raises(ValueError, match="the source ends at item 3"):
        iter(short)
    state["shard"] = [1, 4]
    again = packhouse.PackedDataset(items_of(lengths), 100)
    again.load_state_dict(state)
    with pytest.raises(ValueError, match="reader 1 of 4, this is reader 0"):
        iter(again)


def test_reprs_tell():
    dataset = packhouse.PackedDataset(items_of([3, 2]), 8)
    assert repr(dataset) == "<PackedDataset: Spec(8), shard=None>"
    (pack,) = dataset
    assert repr(pack) == (
        "<Pack: 2 sequences of [3, 2] tokens, 62.5% of 8, columns input_ids, "
        "labels>"
    )
    assert pickle.loads(pickle.dumps(pack)).ordinals.tolist() == [0, 1]


def test_epochs_after_a_resumed_one_are_whole(random):
    items = items_of(random.integers(1, 101, 300).tolist())
    dataset = packhouse.PackedDataset(items, 100, window=32)
    whole = as_values(dataset)
    reader = iter(dataset)
    for _ in range(60):
        next(reader)
    other = packhouse.PackedDataset(items, 100, window=32)
    other.load_state_dict(dataset.state_dict())
    assert as_values(other) == whole[60:]
    assert as_values(other) == whole
    assert as_values(other) == whole


def test_a_state_at_the_end_has_nothing_left():
    items = items_of([3, 2, 4])
    dataset = packhouse.PackedDataset(items, 4)
    assert len(list(dataset)) == 3
    other = packhouse.PackedDataset(items, 4)
    other.load_state_dict(dataset.state_dict())
    assert list(other) == []
    assert len(list(other)) == 3


def test_estimates_are_close_and_named_so(random):
    items = items_of(random.integers(1, 101, 3000).tolist())
    dataset = packhouse.PackedDataset(items, 100)
    packs = len(list(dataset))
    assert dataset.estimate_packs() == pytest.approx(packs, rel=0.001)
    assert dataset.estimate_packs(200) == pytest.approx(packs, rel=0.15)
    assert packhouse.PackedDataset([[1]] * 10, 4).estimate_packs() == 3
    with pytest.raises(TypeError, match="generator, has no length"):
        packhouse.PackedDataset((i for i in items), 4).estimate_packs()
    with pytest.raises(ValueError, match="empty"):
        packhouse.PackedDataset([], 4).estimate_packs()
    with pytest.raises(ValueError, match="sample is 0"):
        dataset.estimate_packs(0)


def test_ranks_take_their_own_items(monkeypatch, random):
    items = items_of(random.integers(1, 101, 200).tolist())
    names = []
    for rank in range(3):
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "3")
        dataset = packhouse.PackedDataset(items, 100, shard=True)
        own = [name for pack in dataset for name in pack.extras["name"]]
        assert len(own) >= 66
        names += own
    assert sorted(names) == sorted(item["name"] for item in items)
