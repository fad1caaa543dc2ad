"""`packhouse plan`: the right packs, whatever the form of the list."""

import gzip
import json
import random
import struct

import pytest

import oracle
from conftest import (DATA, read_lengths, report_of, spec_arguments,
                      succeed)

REPORT_KEYS = {
    "sequences", "tokens", "packs", "capacity", "efficiency",
    "lower_bound_packs", "waste_tokens", "truncated_tokens", "dropped_tokens",
    "dropped_sequences", "empty_sequences", "max_displacement", "seconds"
}


@pytest.fixture
def plan(write_lengths, folder):
    """Plans a list; returns the packs as lists of lengths, in any order
    inside a pack ascending by ordinal, and the report."""

    def run(lengths, **spec):
        packs_path = folder / "packs.jsonl"
        report = report_of("plan", write_lengths(lengths),
                           *spec_arguments(**spec), "--packs", packs_path)
        packs = [json.loads(line) for line in packs_path.open()]
        for pack in packs:
            assert list(pack) == ["ordinals", "lengths"]
            assert pack["lengths"] == [lengths[i] for i in pack["ordinals"]]
        assert len(packs) == report["packs"]
        return [pack["lengths"] for pack in packs], report

    return run


# Each row is a small input on which a packer of somebody else went wrong, with
# the answer worked out by hand from the definition of the rule: lengths in the
# order of the list, packs in release order.
@pytest.mark.parametrize("lengths, spec, packs", [
    # Room for exactly capacity: one more and one less than a power of two.
    ([5, 4, 5, 4, 5, 4], {"capacity": 9}, [[5, 4], [5, 4], [5, 4]]),
    ([5, 4, 5, 4, 5, 4], {"capacity": 10}, [[5, 5], [4, 4], [4, 5]]),
    ([5, 4, 5, 4, 5, 4], {"capacity": 8}, [[5], [4, 4], [5], [5], [4]]),
    # The name of a rule says which rule it is.
    ([5, 3, 3, 3, 1], {"capacity": 7, "algorithm": "spfhp"},
     [[5], [3, 3], [3, 1]]),
    ([5, 3, 3, 3, 1], {"capacity": 7, "algorithm": "lpfhp"},
     [[5], [3, 3, 1], [3]]),
    ([5, 4, 3, 2, 2], {"capacity": 8}, [[5, 2], [4, 3], [2]]),
    # Equal lengths share packs.
    ([4, 4], {"capacity": 8}, [[4, 4]]),
    ([4] * 6, {"capacity": 8}, [[4, 4]] * 3),
    # The limit of sequences holds in every window.
    ([1] * 10, {"capacity": 10, "max_sequences": 4}, [[1] * 4, [1] * 4, [1] * 2]),
    ([1] * 20, {"capacity": 10, "max_sequences": 4, "window": 10},
     [[1] * 4, [1] * 4, [1] * 2] * 2),
    # The last window is a normal one.
    ([4] * 7, {"capacity": 8, "window": 4}, [[4, 4], [4, 4], [4, 4], [4]]),
    # Nothing left over is nothing, not an empty pack.
    ([8, 8], {"capacity": 8}, [[8], [8]]),
    # Exactly at capacity fits and is not over-long.
    ([8], {"capacity": 8}, [[8]]),
    ([8, 8, 1, 7], {"capacity": 8}, [[8], [8], [1, 7]]),
    ([512], {"capacity": 512}, [[512]]),
    # Less than a window, and at once the end.
    ([3], {"capacity": 8, "window": 1024}, [[3]]),
    ([5, 3], {"capacity": 10}, [[5, 3]]),
    # Every sequence is rounded up, the last of a pack too.
    ([5, 3], {"capacity": 12, "alignment": 4}, [[5, 3]]),
    ([5, 5], {"capacity": 15, "alignment": 4}, [[5], [5]]),
    # Numbers at the edge of their types.
    ([2**31 - 1], {"capacity": 2**31 - 1}, [[2**31 - 1]]),
    ([2**30, 2**30 - 1, 2**30], {"capacity": 2**31 - 1},
     [[2**30, 2**30 - 1], [2**30]]),
    ([2**31 - 2, 1, 1], {"capacity": 2**31 - 1}, [[2**31 - 2, 1], [1]]),
    ([10**9] * 3, {"capacity": 2**31 - 1}, [[10**9] * 2, [10**9]]),
])
def test_known_answers(plan, lengths, spec, packs):
    assert plan(lengths, **spec)[0] == packs


@pytest.mark.parametrize("algorithm", ["spfhp", "lpfhp"])
@pytest.mark.parametrize("capacity", range(5, 67))
def test_every_small_capacity(plan, capacity, algorithm):
    lengths = [5, 4, 5, 4, 5, 4]
    expected = oracle.plan(lengths, capacity, algorithm=algorithm)
    packs, _ = plan(lengths, capacity=capacity, algorithm=algorithm)
    assert packs == [[lengths[i] for i in pack] for pack in expected]


@pytest.mark.parametrize("count", [
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 127, 128, 129
])
@pytest.mark.parametrize("algorithm", ["spfhp", "lpfhp"])
def test_halves(plan, count, algorithm):
    spec = {"capacity": 100, "algorithm": algorithm}
    assert len(plan([51] * count, **spec)[0]) == count
    assert len(plan([50] * count, **spec)[0]) == (count + 1) // 2


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("algorithm", ["spfhp", "lpfhp"])
def test_random_lists(write_lengths, folder, algorithm, seed):
    choose = random.Random(seed)
    capacity = choose.choice([1, 7, 64, 100, 8192, 2**31 - 1])
    alignment = choose.choice([1, 1, 2, 16])
    alignment = min(alignment, capacity)
    longest = capacity // alignment * alignment
    lengths = [
        # Few different values make many ties.
        choose.choice([choose.randint(1, longest), (longest + 1) // 2, 1])
        for _ in range(choose.randint(1, 400))
    ]
    spec = {
        "capacity": capacity,
        "algorithm": algorithm,
        "window": choose.choice([1, 2, 33, len(lengths), 1024]),
        "max_sequences": choose.choice([0, 1, 3]),
        "alignment": alignment,
    }
    packs_path = folder / "packs.jsonl"
    report = report_of("plan", write_lengths(lengths), *spec_arguments(**spec),
                       "--packs", packs_path)
    packs = oracle.plan(lengths, **spec)
    assert packs_path.read_text() == oracle.packs_text(lengths, packs)

    footprints = sum(oracle.footprint(n, alignment) for n in lengths)
    assert report["sequences"] == len(lengths)
    assert report["tokens"] == sum(lengths)
    assert report["capacity"] == capacity
    assert report["waste_tokens"] == {
        "tail": len(packs) * capacity - footprints,
        "alignment": footprints - sum(lengths),
    }
    assert report["max_displacement"] == oracle.displacement(packs)
    assert report["efficiency"] == pytest.approx(
        sum(lengths) / (len(packs) * capacity))
    assert -(-footprints // capacity) <= report["lower_bound_packs"]
    assert report["lower_bound_packs"] <= len(packs)


def test_report_has_all_keys(plan):
    report = plan([5, 3], capacity=10)[1]
    assert REPORT_KEYS <= set(report)
    assert {key: report[key] for key in REPORT_KEYS - {"seconds"}} == {
        "sequences": 2,
        "tokens": 8,
        "packs": 1,
        "capacity": 10,
        "efficiency": 0.8,
        "lower_bound_packs": 1,
        "waste_tokens": {"tail": 2, "alignment": 0},
        "truncated_tokens": 0,
        "dropped_tokens": 0,
        "dropped_sequences": 0,
        "empty_sequences": 0,
        "max_displacement": 0,
    }
    assert report["seconds"] >= 0


def test_report_counts_beyond_32_bits(plan):
    _, report = plan([2**31 - 1] * 5, capacity=2**31 - 1)
    assert report["tokens"] == 5 * (2**31 - 1)
    assert report["packs"] == report["lower_bound_packs"] == 5


def test_text_report_names_the_figures(write_lengths):
    text = succeed("plan", write_lengths([5, 3]), "--capacity", 10)
    for word in ["sequences", "tokens", "packs", "efficiency", "80.00 %"]:
        assert word in text


def npy(lengths):
    header = repr({
        "descr": "<i8",
        "fortran_order": False,
        "shape": (len(lengths),)
    }).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header +
            struct.pack(f"<{len(lengths)}q", *lengths))


@pytest.mark.parametrize("name, content, options", [
    ("lengths.txt", b"5\n3\n7\n1\n", []),
    ("no-last-line-feed.txt", b"5\n3\n7\n1", []),
    ("from-windows.txt", b"5\r\n3\r\n7\r\n1\r\n", []),
    ("lengths.txt.gz", gzip.compress(b"5\n3\n7\n1\n"), []),
    ("lengths.npy", npy([5, 3, 7, 1]), []),
    ("records.jsonl",
     b'{"n":5}\n{"text":"x","n":3}\n{"n":7}\n{"n":1}\n', ["--field", "n"]),
    ("records.jsonl.gz",
     gzip.compress(b'{"n":5}\n{"n":3}\n{"n":7}\n{"n":1}\n'), ["--field", "n"]),
])
def test_forms_of_a_list(folder, name, content, options):
    lengths = folder / name
    lengths.write_bytes(content)
    packs = folder / "packs.jsonl"
    succeed("plan", lengths, "--capacity", 8, "--packs", packs, *options)
    assert packs.read_text() == oracle.packs_text(
        [5, 3, 7, 1], oracle.plan([5, 3, 7, 1], 8))


def test_list_from_standard_input(folder):
    packs = folder / "packs.jsonl"
    succeed("plan", "-", "--capacity", 8, "--packs", packs, stdin="5\n3\n7\n1\n")
    assert packs.read_text() == oracle.packs_text(
        [5, 3, 7, 1], oracle.plan([5, 3, 7, 1], 8))


def test_packs_on_standard_output():
    assert succeed("plan", "-", "--capacity", 8, "--packs", "-",
                   stdin="5\n3\n") == '{"ordinals":[0,1],"lengths":[5,3]}\n'


def test_histogram(folder):
    histogram = folder / "lengths.hist.csv"
    histogram.write_text("length,count\n3,2\n5,2\n8,1\n4,0\n")
    packs_path = folder / "packs.jsonl"
    report = report_of("plan", histogram, "--capacity", 8, "--packs",
                       packs_path)
    assert report["sequences"] == 5
    assert report["tokens"] == 24
    assert report["packs"] == report["lower_bound_packs"] == 3
    packs = [json.loads(line) for line in packs_path.open()]
    assert sorted((pack["count"], sorted(pack["lengths"]))
                  for pack in packs) == [(1, [8]), (2, [3, 5])]


def test_published_figure_of_wikipedia(folder):
    # Krell et al., 2021: longest-pack-first over the whole histogram of
    # Wikipedia fills 99.949 % of the slots.
    report = report_of("plan", DATA / "wikipedia_bert512.hist.csv.gz",
                       "--capacity", 512, "--algorithm", "lpfhp",
                       "--window", 2**31 - 1)
    assert report["sequences"] == 16_279_552
    assert round(100 * report["efficiency"], 3) == 99.949


@pytest.mark.parametrize("capacity", [512, 1024, 2048])
@pytest.mark.parametrize("algorithm", ["spfhp", "lpfhp"])
def test_real_list(folder, algorithm, capacity):
    lengths = read_lengths("gsm8k_train_cl100k.txt.gz")
    packs = folder / "packs.jsonl"
    report = report_of("plan", DATA / "gsm8k_train_cl100k.txt.gz",
                       "--capacity", capacity, "--algorithm", algorithm,
                       "--packs", packs)
    assert report["efficiency"] > 0.95
    assert packs.read_text() == oracle.packs_text(
        lengths, oracle.plan(lengths, capacity, algorithm=algorithm))


def test_costs(write_lengths, folder):
    """a L + b L^2 for each sequence, added up by pack."""
    packs = folder / "packs.jsonl"
    arguments = ["plan", write_lengths([5, 3, 20, 8]), "--capacity", 8,
                 "--overlong", "truncate", "--packs", packs]
    report = report_of(*arguments, "--cost-per-token", 0.5,
                       "--cost-per-token-squared", 2)
    costs = [sum(0.5 * n + 2 * n * n for n in json.loads(line)["lengths"])
             for line in packs.open()]
    assert len(costs) == 3
    assert report["cost"] == {"total": sum(costs), "dearest_pack": max(costs)}
    assert report_of(*arguments)["cost"] is None
    # Squares of the longest lengths do not wrap.
    long = write_lengths([65536, 65536], "long.txt")
    report = report_of("plan", long, "--capacity", 131072,
                       "--cost-per-token-squared", 1)
    assert report["cost"]["total"] == 8589934592
