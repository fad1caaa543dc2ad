import array
import concurrent.futures
import copy
import importlib.metadata
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
        (np.int64(5), ValueError, "0 dimensions"),
        (None, TypeError, "NoneType, they must be integers"),
        ("12", TypeError, "str, they must be integers"),
        ({1: 2}, TypeError, "dict, they must be integers"),
        ((i for i in [1, 2]), TypeError, "generator"),
        (np.array([1, 2], "m8[s]"), TypeError, "timedelta64"),
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
        ({"window": "8"}, TypeError, "window is '8' of type str, it must be"),
        ({"window": 8.0}, TypeError, "window is 8.0 of type float"),
        ({"window": True}, TypeError, "window is True of type bool"),
        ({"window": 2**70}, ValueError, f"window is {2**70}, it must be from"),
        ({"algorithm": None}, TypeError, "algorithm is None of type NoneType"),
        ({"budget": "1"}, TypeError, "budget is '1' of type str"),
        ({"capacity_tokens": 5}, TypeError, "capacity_tokens"),
        ({"algorithm": "ffd"}, ValueError, 'algorithm is "ffd"'),
        ({"overlong": "cut"}, ValueError, "overlong is 'cut', it must be one"),
        ({"seed": -1}, ValueError, "seed is -1, it must be from 0 to"),
        ({"seed": 2**64}, ValueError, f"seed is {2**64}"),
        ({"alignment": 11}, ValueError, "sequence_alignment is 11"),
        ({"budget": 1.0}, ValueError, "budget"),
    ],
)
def test_wrong_options(options, error, words):
    with pytest.raises(error, match=words):
        packhouse.plan([1, 2], 10, **options)


@pytest.mark.parametrize("capacity", [None, "10", 10.0, True, [10]])
def test_wrong_capacities(capacity):
    with pytest.raises(TypeError, match=r"capacity_tokens is .* an integer"):
        packhouse.Spec(capacity)


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
    with pytest.raises(TypeError):
        packs[1.0]
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


def test_pictures_stay_small():
    """A pack of many thousand sequences has fewer marks than that."""
    packs = packhouse.plan(np.ones(100_000, int), 100_000, window=100_000)
    picture = packs._repr_html_()
    assert len(picture) < 50_000
    assert "99880 more sequences: 99880 tokens" in picture


def test_columns_that_do_not_fit_are_refused():
    """Source offsets that are too short are not read beyond their end."""
    packs = packhouse.plan([5, 3, 8, 2], 10)
    wrong = packhouse.Packs(
        packs.spec, packs.ordinals, packs.offsets, np.zeros(1, np.uint32)
    )
    with pytest.raises(ValueError, match="1 source offsets for 4 ordinals"):
        _ = wrong.with_lengths([5, 3, 8, 2]).lengths
    with pytest.raises(RuntimeError, match="1 source offsets for 4 ordinals"):
        wrong.verify([5, 3, 8, 2])


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


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"ordinals":[-1]}', "-1 is not an integer from 0"),
        ('{"ordinals":[18446744073709551616]}', "is not an integer from 0"),
        ('{"ordinals":[1.7]}', "1.7 is not an integer"),
        ('{"ordinals":["3"]}', "'3' is not an integer"),
        ('{"ordinals":[true]}', "True is not an integer"),
        ('{"ordinals":"12"}', "'12' is not a list"),
        ('{"ordinals":[1],"source_offsets":[-1]}', "-1 is not an integer"),
        ('{"ordinals":[1],"source_offsets":[1,2]}', "several lengths"),
        ("[1]", "TypeError"),
        ("", "JSONDecodeError"),
        ("\xff", "UnicodeDecodeError"),
    ],
)
def test_files_that_are_no_packs(tmp_path, line, words):
    path = tmp_path / "packs.jsonl"
    text = f'{{"ordinals":[0]}}\n{line}\n'
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=f"line 2 is not a pack: .*{words}"):
        packhouse.Packs.load(path, packhouse.Spec(10))


def test_packs_are_pickled_and_copied(random):
    packs = packhouse.plan(random.integers(1, 300, 200), 100, overlong="split")
    for other in (pickle.loads(pickle.dumps(packs)), copy.deepcopy(packs)):
        assert other == packs
        assert other.spec == packs.spec
        assert other.efficiency == packs.efficiency


def decreasing(lengths, capacity, prefer):
    """Every unit, longest first, into the open pack that `prefer` names."""
    packs = []
    for i in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        open_packs = [pack for pack in packs if pack[0] >= lengths[i]]
        if open_packs:
            pack = prefer(open_packs, key=lambda pack: pack[0])
            pack[0] -= lengths[i]
            pack[1].append(i)
        else:
            packs.append([capacity - lengths[i], [i]])
    packs.sort(key=lambda pack: pack[1][0])
    return [sorted(members) for _, members in packs]


@pytest.mark.parametrize("seed", range(20))
def test_against_the_definition(seed):
    """Of equal rooms the pack that was opened first, as in docs/packing.md."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 60, 60).tolist()
    for algorithm, prefer in (("spfhp", max), ("lpfhp", min)):
        packs = packhouse.plan(lengths, 100, algorithm=algorithm)
        assert packs.as_lists() == decreasing(lengths, 100, prefer)


@pytest.mark.parametrize("seed", range(10))
def test_best_against_all_packings(seed):
    """No packing of seven sequences has fewer packs."""
    random = np.random.default_rng(seed)
    lengths = random.integers(1, 11, 7).tolist()

    def fewest(rest, rooms):
        if not rest:
            return len(rooms)
        answers = [fewest(rest[1:], (*rooms, 10 - rest[0]))]
        for i, room in enumerate(rooms):
            if room >= rest[0]:
                left = (*rooms[:i], room - rest[0], *rooms[i + 1 :])
                answers.append(fewest(rest[1:], left))
        return min(answers)

    packs = packhouse.plan(lengths, 10, algorithm="best")
    assert len(packs) == packs.lower_bound == fewest(lengths, ())


def test_a_large_list(random):
    lengths = random.integers(1, 513, 1_000_000).astype(np.uint32)
    packs = packhouse.plan(lengths, 512)
    packs.verify()
    assert np.array_equal(np.sort(packs.ordinals), np.arange(1_000_000))


def test_specs_hold_plain_values():
    """Integers of numpy become plain ones: states go through JSON."""
    spec = packhouse.Spec(np.int64(512), window=np.uint8(64), budget=0)
    assert spec == packhouse.Spec(512, window=64)
    assert repr(spec) == "Spec(512, window=64)"
    assert json.loads(json.dumps(spec.as_dict())) == spec.as_dict()


def test_names_of_the_package():
    assert set(packhouse.__all__) <= set(dir(packhouse))
    version = importlib.metadata.version("packhouse")
    assert packhouse.__version__ == version


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
