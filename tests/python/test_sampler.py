import pickle

import numpy as np
import packhouse
import pytest

LENGTHS = np.random.default_rng(5).integers(1, 101, 700)


def items_of(lengths):
    return [
        {"input_ids": np.arange(length) + 1000 * i, "name": f"item {i}"}
        for i, length in enumerate(lengths)
    ]


@pytest.mark.parametrize("ranks", [1, 3, 8])
def test_ranks_share_the_items(ranks):
    """Each item once, on one rank; as many steps on each; legal packs."""
    for epoch in (0, 1):
        seen, steps = [], set()
        for rank in range(ranks):
            sampler = packhouse.PackedBatchSampler(
                LENGTHS, 100, rank=rank, ranks=ranks, surplus="fill"
            )
            sampler.set_epoch(epoch)
            batches = list(sampler)
            assert len(batches) == len(sampler)
            steps.add(len(batches))
            for batch in batches:
                assert LENGTHS[batch].sum() <= 100
                seen += batch
        assert sorted(seen) == list(range(len(LENGTHS)))
        assert len(steps) == 1


def test_surplus_is_dropped_or_filled():
    packs = len(packhouse.PackedBatchSampler(LENGTHS, 100))
    ranks = next(n for n in range(3, 20) if packs % n)
    dropped, filled = (
        [
            list(
                packhouse.PackedBatchSampler(
                    LENGTHS, 100, rank=rank, ranks=ranks, surplus=surplus
                )
            )
            for rank in range(ranks)
        ]
        for surplus in ("drop", "fill")
    )
    assert {len(part) for part in dropped} == {packs // ranks}
    assert {len(part) for part in filled} == {packs // ranks + 1}
    empty = sum(not batch for part in filled for batch in part)
    assert empty == ranks - packs % ranks


def test_epochs_and_seeds_give_other_orders():
    def batches(seed, epoch):
        sampler = packhouse.PackedBatchSampler(LENGTHS, 100, seed=seed)
        sampler.set_epoch(epoch)
        return list(sampler)

    assert batches(1, 0) == batches(1, 0)
    assert batches(1, 0) != batches(1, 1)
    assert batches(1, 0) != batches(2, 0)


def test_packs_of_a_step_cost_about_the_same():
    """By the square of lengths; beside packs that are dealt in turn."""
    lengths = np.random.default_rng(1).integers(1, 513, 4000)
    samplers = [
        packhouse.PackedBatchSampler(
            lengths, 512, rank=rank, ranks=8, cost=(0.0, 1.0)
        )
        for rank in range(8)
    ]
    costs = np.array(
        [[(lengths[batch] ** 2).sum() for batch in each] for each in samplers]
    )

    def waiting(steps):
        return steps.max(axis=0).sum() / steps.mean(axis=0).sum()

    assert waiting(costs) < 1.05
    mixed = np.random.default_rng(2).permutation(costs.ravel())
    assert waiting(mixed.reshape(costs.shape)) > 1.2


@pytest.mark.parametrize("overlong", ["error", "split", "truncate_head"])
def test_planned_packs_have_their_tokens(overlong):
    most = 100 if overlong == "error" else 250
    lengths = np.random.default_rng(5).integers(1, most + 1, 300)
    dataset = packhouse.PlannedDataset(
        items_of(lengths), 100, overlong=overlong, algorithm="lpfhp"
    )
    tokens = 0
    for step in range(len(dataset)):
        pack = dataset[step]
        for i, part in enumerate(pack.sequences("input_ids")):
            number, begin = int(pack.ordinals[i]), int(pack.source_offsets[i])
            expected = 1000 * number + begin + np.arange(len(part))
            np.testing.assert_array_equal(part, expected)
            assert pack.extras["name"][i] == f"item {number}"
        tokens += pack.tokens
    cut = np.minimum(lengths, 100) if overlong == "truncate_head" else lengths
    assert tokens == cut.sum()
    with pytest.raises(IndexError, match=f"step {len(dataset)} of"):
        dataset[len(dataset)]


def test_they_survive_pickling():
    dataset = packhouse.PlannedDataset(items_of(LENGTHS), 100, seed=4)
    other = pickle.loads(pickle.dumps(dataset))
    assert other[3].ordinals.tolist() == dataset[3].ordinals.tolist()
    assert "rank 0 of 1" in repr(dataset)


def test_fillers_are_packs_without_sequences():
    lengths = [100, 100, 100]
    dataset = packhouse.PlannedDataset(
        items_of(lengths), 100, rank=1, ranks=2, surplus="fill"
    )
    assert [len(dataset[i]) for i in range(2)] == [1, 0]


def test_ranks_are_found(monkeypatch):
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    sampler = packhouse.PackedBatchSampler(LENGTHS, 100)
    assert (sampler.rank, sampler.ranks) == (2, 4)
    monkeypatch.setenv("RANK", "two")
    with pytest.raises(ValueError, match="RANK is 'two'"):
        packhouse.PackedBatchSampler(LENGTHS, 100)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"rank": 3, "ranks": 3}, "rank is 3 of 3"),
        ({"ranks": 0, "rank": 0}, "rank is 0 of 0"),
        ({"surplus": "pad"}, "surplus is 'pad'"),
        ({"overlong": "split"}, "whole items"),
        ({"window": 0}, "window_sequences is 0"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        packhouse.PackedBatchSampler(LENGTHS, 100, **arguments)


def test_lengths_and_items_that_disagree():
    items = items_of([5, 3])
    with pytest.raises(ValueError, match="3 lengths and 2 items"):
        packhouse.PlannedDataset(items, 100, lengths=[5, 3, 1])
    dataset = packhouse.PlannedDataset(items, 100, lengths=[5, 4])
    with pytest.raises(ValueError, match="planned with 4"):
        dataset[0]
    with pytest.raises(ValueError, match="item 1 does not have"):
        packhouse.PlannedDataset([{"input_ids": [1]}, {"text": [1]}], 100)


def test_a_loader_takes_both():
    torch = pytest.importorskip("torch")
    items = items_of(LENGTHS)
    loader = torch.utils.data.DataLoader(
        items,
        batch_sampler=packhouse.PackedBatchSampler(LENGTHS, 100),
        collate_fn=lambda batch: [item["name"] for item in batch],
    )
    names = sorted(name for batch in loader for name in batch)
    assert names == sorted(item["name"] for item in items)
    loader = torch.utils.data.DataLoader(
        packhouse.PlannedDataset(items, 100),
        batch_size=4,
        num_workers=2,
        collate_fn=packhouse.collate.PaddingFree(),
    )
    tokens = sum(unit.tokens for batch in loader for unit in batch.units)
    assert tokens == LENGTHS.sum()
