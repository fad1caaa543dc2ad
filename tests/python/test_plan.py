import array
import concurrent.futures
import json
import os
import pickle

import numpy as np
import packhouse
import pytest
from conftest import check_packs, run_python


@pytest.mark.parametrize("algorithm", packhouse.algorithms())
def test_every_rule_packs_legally(algorithm, random):
    lengths = random.integers(1, 101, 400)
    packs = packhouse.plan(lengths, 100, algorithm=algorithm)
    check_packs(packs, lengths)
    packs.verify()
    assert packs.lower_bound <= len(packs)
    assert packs.efficiency == pytest.approx(lengths.sum() / (100 * len(packs)))


def test_a_plan_is_what_a_packer_gives(random):
    lengths = random.integers(1, 201, 3000)
    options = {"algorithm": "sliding", "window": 64}
    packer = packhouse.Packer(200, **options)
    parts = [packer.add(part) for part in np.array_split(lengths, 17)]
    parts.append(packer.finish())
    ordinals = [pack for part in parts for pack in part.as_lists()]
    assert ordinals == packhouse.plan(lengths, 200, **options).as_lists()


@pytest.mark.parametrize(
    "options", [{}, {"algorithm": "sliding"}, {"overlong": "split"}]
)
def test_progress_changes_nothing(options, random, monkeypatch, capsys):
    monkeypatch.setattr("packhouse.planning._SLICE", 100)
    most = 300 if "overlong" in options else 101
    lengths = random.integers(1, most, 950)
    seen = []
    packs = packhouse.plan(
        lengths, 100, progress=lambda *said: seen.append(said), **options
    )
    assert packs == packhouse.plan(lengths, 100, **options)
    assert seen == [(min(i, 950), 950) for i in range(100, 1001, 100)]
    assert packhouse.plan(lengths, 100, progress=True, **options) == packs
    said = capsys.readouterr()
    assert said.out == ""
    assert "100%" in said.err
    assert said.err.endswith(" M sequences/s\n")
    assert len(packhouse.plan([], 100, progress=True)) == 0


def test_best_is_optimal_and_says_so():
    packs = packhouse.plan([200, 512, 312], 512, algorithm="best")
    assert sorted(packs.as_lists()) == [[0, 2], [1]]
    assert packs.notes["lower_bound_packs"] == packs.lower_bound == 2


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        lambda values: array.array("i", values),
        lambda values: np.array(values, np.uint8),
        lambda values: np.array(values, np.int64),
        lambda values: np.array(values, np.uint64),
        lambda values: np.array(values, ">i4"),
        lambda values: np.repeat(np.array(values, np.uint32), 2)[::2],
        lambda values: np.array(values, np.int16)[::-1][::-1],
    ],
)
def test_lengths_of_every_kind(make):
    values = [5, 3, 8, 1, 7, 2]
    assert packhouse.plan(make(values), 10) == packhouse.plan(
        np.array(values, np.uint32), 10
    )


def test_lengths_are_read_where_they_lie():
    lengths = np.array([5, 3], np.uint32)
    packs = packhouse.plan(lengths, 10)
    assert packs._sequence_lengths is lengths


@pytest.mark.parametrize(
    ("lengths", "error", "words"),
    [
        ([1, 2.5], TypeError, "float64, they must be integers"),
        ([True, False], TypeError, "bool"),
        (["a"], TypeError, "integers"),
        ([[1], [2]], ValueError, "2 dimensions"),
        (5, ValueError, "0 dimensions"),
        ([1, -5], ValueError, r"lengths\[1\] is -5, it must be from 0 to"),
        ([1, 2**32], ValueError, r"lengths\[1\] is 4294967296"),
        ([1, 2**70], TypeError, "object"),
        ([4, 11], ValueError, "ordinal 1 has length 11 > capacity 10"),
        ([4, 0], ValueError, "ordinal 1 has length 0"),
    ],
)
def test_wrong_lengths(lengths, error, words):
    with pytest.raises(error, match=words):
        packhouse.plan(lengths, 10)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"windw": 3}, TypeError, "no option 'windw', there are: algorithm"),
        ({"window": 0}, ValueError, "window_sequences is 0"),
        ({"window": "8"}, TypeError, "window"),
        ({"algorithm": "ffd"}, ValueError, 'algorithm is "ffd"'),
        ({"overlong": "cut"}, ValueError, "overlong is 'cut', it must be one"),
        ({"seed": -1}, TypeError, "seed"),
        ({"alignment": 11}, ValueError, "sequence_alignment is 11"),
        ({"budget": 1.0}, ValueError, "budget"),
    ],
)
def test_wrong_options(options, error, words):
    with pytest.raises(error, match=words):
        packhouse.plan([1, 2], 10, **options)


def test_a_spec_or_options():
    spec = packhouse.Spec(10, window=4)
    assert packhouse.plan([1, 2], spec).spec is spec
    with pytest.raises(TypeError, match="a Spec and options"):
        packhouse.plan([1, 2], spec, window=5)


def test_no_sequences_no_packs():
    packs = packhouse.plan([], 10)
    assert len(packs) == 0
    assert packs.as_lists() == []
    assert packs.efficiency == 1.0
    packs.verify()


@pytest.mark.parametrize(
    ("overlong", "units"),
    [
        ("drop", [(1, 0, 4)]),
        ("truncate", [(0, 0, 10), (1, 0, 4)]),
        ("truncate_head", [(0, 15, 10), (1, 0, 4)]),
        ("split", [(0, 0, 10), (0, 10, 10), (0, 20, 5), (1, 0, 4)]),
    ],
)
def test_overlong_sequences(overlong, units):
    packs = packhouse.plan([25, 4], 10, overlong=overlong)
    begins = packs.source_offsets
    if begins is None:
        begins = np.zeros(len(packs.ordinals), int)
    seen = zip(packs.ordinals, begins, packs.lengths, strict=True)
    assert sorted(seen) == units
    packs.verify()


def test_packs_tell_of_themselves(random):
    lengths = random.integers(1, 60, 500)
    packs = packhouse.plan(lengths, 100)
    assert packs.sizes.sum() == 500
    assert packs.tokens.sum() == lengths.sum()
    assert packs.tokens.max() <= 100
    assert packs[0].tolist() == packs.as_lists()[0]
    assert packs[-1].tolist() == packs.as_lists()[-1]
    assert packs[3:9].as_lists() == packs.as_lists()[3:9]
    assert packs[5:2].as_lists() == []
    np.testing.assert_array_equal(packs[3:9].tokens, packs.tokens[3:9])
    with pytest.raises(IndexError, match=f"pack {len(packs)} of"):
        packs[len(packs)]
    with pytest.raises(ValueError, match="steps of 1"):
        packs[::2]
    assert "500 sequences" in repr(packs)
    picture = packs._repr_html_()
    assert picture.count("<title>") == packs.sizes[:24].sum()
    assert "NaN" not in picture


def test_packs_of_a_packer_learn_their_lengths():
    lengths = [5, 3, 8, 2]
    packer = packhouse.Packer(10)
    packer.add(lengths)
    packs = packer.finish()
    with pytest.raises(ValueError, match="with_lengths"):
        _ = packs.efficiency
    assert packs.with_lengths(lengths).tokens.sum() == 18
    with pytest.raises(ValueError, match="there are lengths of 4 from"):
        _ = packs.with_lengths(lengths, first_ordinal=1).lengths
    packs.verify(lengths)


def test_verify_names_what_is_wrong():
    packs = packhouse.plan([5, 3, 8, 2], 10)
    with pytest.raises(RuntimeError, match="ordinal"):
        packs.verify([5, 3, 8, 2, 1])
    wrong = packhouse.Packs(
        packs.spec,
        np.array([0, 1, 2, 3], np.uint64),
        np.array([0, 4], np.uint64),
    )
    with pytest.raises(RuntimeError, match="18"):
        wrong.verify([5, 3, 8, 2])


def test_save_and_load(tmp_path, random):
    lengths = random.integers(1, 300, 200)
    packs = packhouse.plan(lengths, 100, overlong="split")
    path = tmp_path / "packs.jsonl"
    packs.save(path)
    assert os.listdir(tmp_path) == ["packs.jsonl"]
    assert packhouse.Packs.load(path, packs.spec) == packs
    first = json.loads(path.read_text().splitlines()[0])
    assert first["ordinals"] == packs[0].tolist()
    path.write_text('{"ordinals":[0]}\n{"lengths":[1]}\n')
    with pytest.raises(ValueError, match="line 2 is not a pack"):
        packhouse.Packs.load(path, packs.spec)


def test_specs_are_values():
    spec = packhouse.Spec(512, window=64, seed=0)
    assert repr(spec) == "Spec(512, window=64, seed=0)"
    assert pickle.loads(pickle.dumps(spec)) == spec
    assert hash(spec) == hash(packhouse.Spec(512, window=64, seed=0))
    assert packhouse.Spec(**json.loads(json.dumps(spec.as_dict()))) == spec
    assert spec.difference(packhouse.Spec(512, seed=0)) == (
        "window is 1024, not 64"
    )
    with pytest.raises(AttributeError):
        spec.window = 5


def test_threads_plan_at_once(random):
    lists = [random.integers(1, 513, 20_000) for _ in range(4)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        plans = list(pool.map(lambda one: packhouse.plan(one, 512), lists))
    assert plans == [packhouse.plan(one, 512) for one in lists]


def test_import_loads_nothing_heavy():
    heavy = ["torch", "grpc", "google.protobuf", "transformers", "jax"]
    code = (
        "import sys, packhouse\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert run_python(code) == "[]"
