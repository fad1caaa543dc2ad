"""What becomes of sequences that are over-long or empty, and release by seed."""

import json
import os
import random

import pytest

import oracle
from conftest import assert_refused, packhouse, report_of, spec_arguments, succeed


@pytest.fixture
def run(write_lengths, folder):
    """Plans a list; returns the text of PACKS, the fates and the report."""

    def plan(lengths, **spec):
        path = write_lengths(lengths)
        packs, fates = folder / "packs.jsonl", folder / "fates.jsonl"
        report = report_of("plan", path, *spec_arguments(**spec), "--packs",
                           packs, "--fates", fates)
        succeed("verify", path, packs, *spec_arguments(**spec))
        return (packs.read_text(),
                [json.loads(line) for line in fates.open()], report)

    return plan


# Small inputs on which loaders of others lost tokens or broke, with answers
# worked out by hand: packs as (ordinal, first token, tokens).
@pytest.mark.parametrize("lengths, capacity, overlong, packs, counts", [
    ([12], 8, "drop", [], {"dropped_sequences": 1, "dropped_tokens": 12}),
    ([12], 8, "truncate", [[(0, 0, 8)]],
     {"truncated_sequences": 1, "truncated_tokens": 4}),
    ([12], 8, "truncate_head", [[(0, 4, 8)]],
     {"truncated_sequences": 1, "truncated_tokens": 4}),
    ([12], 8, "split", [[(0, 0, 8)], [(0, 8, 4)]],
     {"split_sequences": 1, "extra_pieces": 1}),
    # More than twice the capacity.
    ([25], 10, "split", [[(0, 0, 10)], [(0, 10, 10)], [(0, 20, 5)]],
     {"split_sequences": 1, "extra_pieces": 2}),
    ([3, 12, 4], 8, "drop", [[(0, 0, 3), (2, 0, 4)]],
     {"dropped_sequences": 1, "dropped_tokens": 12}),
    # Nothing is left: no packs, and no error.
    ([5, 6], 4, "drop", [], {"dropped_sequences": 2, "dropped_tokens": 11}),
    ([512, 513], 512, "drop", [[(0, 0, 512)]],
     {"dropped_sequences": 1, "dropped_tokens": 513}),
    ([1, 0, 1], 8, "error", [[(0, 0, 1), (2, 0, 1)]], {"empty_sequences": 1}),
    ([0, 0], 8, "error", [], {"empty_sequences": 2}),
    # The longest lengths there are.
    ([2**32 - 1, 2**31 - 1], 2**31 - 1, "split",
     [[(0, 0, 2**31 - 1)], [(0, 2**31 - 1, 2**31 - 1)],
      [(0, 2**32 - 2, 1)], [(1, 0, 2**31 - 1)]], {"extra_pieces": 2}),
    ([2**32 - 1], 2**31 - 1, "truncate_head", [[(0, 2**31, 2**31 - 1)]],
     {"truncated_tokens": 2**31}),
])
def test_known(run, lengths, capacity, overlong, packs, counts):
    text, fates, report = run(lengths, capacity=capacity, overlong=overlong,
                              empty="drop")
    assert text == oracle.units_text(lengths, packs)
    expected = dict.fromkeys(
        ("dropped_sequences", "dropped_tokens", "truncated_sequences",
         "truncated_tokens", "split_sequences", "extra_pieces",
         "empty_sequences"), 0)
    if overlong == "split":
        expected["split_sequences"] = 1
    elif overlong == "truncate_head":
        expected["truncated_sequences"] = 1
    expected.update(counts)
    assert {key: report[key] for key in expected} == expected
    assert len(fates) == sum(
        report[key] for key in ("dropped_sequences", "truncated_sequences",
                                "split_sequences", "empty_sequences"))
    if not packs:
        assert report["efficiency"] is None and report["packs"] == 0


def test_fates(run):
    _, fates, _ = run([3, 0, 20, 8, 25], capacity=8, overlong="split",
                      empty="drop")
    assert fates == [
        {"ordinal": 1, "fate": "empty", "length": 0, "packed_tokens": 0,
         "units": 0},
        {"ordinal": 2, "fate": "split", "length": 20, "packed_tokens": 20,
         "units": 3},
        {"ordinal": 4, "fate": "split", "length": 25, "packed_tokens": 25,
         "units": 4},
    ]
    _, fates, _ = run([9, 20], capacity=9, alignment=4, overlong="truncate")
    assert fates == [
        {"ordinal": i, "fate": "truncated", "length": length,
         "packed_tokens": 8, "units": 1} for i, length in enumerate([9, 20])
    ]


@pytest.mark.parametrize("number", range(40))
def test_equals_oracle(run, number):
    draw = random.Random(number)
    capacity = draw.randint(1, 60)
    spec = {
        "capacity": capacity,
        "algorithm": draw.choice(["spfhp", "lpfhp"]),
        "window": draw.randint(1, 60),
        "max_sequences": draw.choice([0, 0, 3]),
        "alignment": draw.choice([1, draw.randint(1, capacity)]),
        "overlong": draw.choice(["drop", "truncate", "truncate_head", "split"]),
        "empty": "drop",
        "seed": draw.choice([None, 0, 1, 2**64 - 1]),
    }
    lengths = [draw.choice([0, draw.randint(1, capacity),
                            draw.randint(1, 4 * capacity)])
               for _ in range(draw.randint(1, 300))]
    text, _, report = run(lengths, **spec)
    packs = oracle.unit_plan(lengths, **spec)
    assert text == oracle.units_text(lengths, packs)
    units = [unit for pack in packs for unit in pack]
    packed = sum(tokens for _, _, tokens in units)
    assert report["tokens"] == sum(lengths)
    assert report["packed_tokens"] == packed
    assert report["units"] == len(units)
    assert report["tokens"] == (report["packed_tokens"] +
                                report["truncated_tokens"] +
                                report["dropped_tokens"])
    assert report["efficiency"] == pytest.approx(
        packed / (len(packs) * capacity))


@pytest.mark.parametrize("overlong", ["drop", "truncate", "truncate_head",
                                      "split"])
@pytest.mark.parametrize("streams, batch", [(1, 1), (1, 7), (3, 4096)])
def test_a_stream_gives_the_packs_of_plan(shared_server, write_lengths, folder,
                                          overlong, streams, batch):
    draw = random.Random(f"{overlong} {streams} {batch}")
    lengths = [draw.choice([0, draw.randint(1, 500)]) for _ in range(700)]
    spec = {"capacity": 97, "window": 64, "overlong": overlong,
            "empty": "drop", "seed": 5}
    path = write_lengths(lengths)
    packs, fates = folder / "packs.jsonl", folder / "fates.jsonl"
    arguments = spec_arguments(**spec) + ["--streams", streams]
    report = report_of("stream", path, *arguments, "--target",
                       shared_server.targets[0], "--batch", batch, "--packs",
                       packs, "--fates", fates)
    assert packs.read_text() == oracle.streams_text(lengths, streams, **spec)
    succeed("verify", path, packs, *arguments)
    assert report["tokens"] == (report["packed_tokens"] +
                                report["truncated_tokens"] +
                                report["dropped_tokens"])
    lines = [json.loads(line) for line in fates.open()]
    assert len(lines) == sum(
        1 for length in lengths if length == 0 or length > 97)
    assert all(("stream" in line) == (streams > 1) for line in lines)


def test_the_error_names_what_a_policy_would_take(write_lengths):
    path = write_lengths([3, 12, 0])
    result = packhouse("plan", path, "--capacity", 8)
    assert_refused(result, "ordinal 1 has length 12", "capacity 8",
                   "ordinal 2 has length 0")
    result = packhouse("plan", path, "--capacity", 8, "--overlong", "drop")
    assert_refused(result, "1 of 3", "ordinal 2 has length 0")
    path = write_lengths([70000])
    result = packhouse("plan", path, "--capacity", 1, "--overlong", "split")
    assert_refused(result, 70000, 65536)


def test_fates_have_their_place(write_lengths, folder):
    path = write_lengths([3, 12])
    arguments = ["plan", path, "--capacity", 8, "--overlong", "drop"]
    assert_refused(packhouse(*arguments, "--fates", path), "LENGTHS itself")
    both = folder / "both"
    # One place, however it is spelled, and though nothing is there yet.
    for other in (both, f"{folder}/./both", os.path.relpath(both)):
        assert_refused(packhouse(*arguments, "--packs", both, "--fates", other),
                       "--fates")
        assert not both.exists()
    # Either both appear or none.
    result = packhouse(*arguments, "--packs", both, "--fates", "/dev/full")
    assert result.returncode == 1 and not both.exists()
    histogram = folder / "x.hist.csv"
    histogram.write_text("length,count\n3,1\n")
    assert_refused(packhouse("plan", histogram, "--capacity", 8, "--fates",
                             both), "histogram")
    assert succeed(*arguments, "--fates", "-") == (
        '{"ordinal":1,"fate":"dropped","length":12,"packed_tokens":0,'
        '"units":0}\n')


def test_a_histogram_has_no_order_to_seed(folder):
    path = folder / "x.hist.csv"
    path.write_text("length,count\n5,2\n")
    assert_refused(packhouse("plan", path, "--capacity", 10, "--seed", 1),
                   "--seed")


def test_whole_list_rules_are_refused_for_streams(write_lengths):
    # Before anybody connects: nobody is there.
    assert_refused(packhouse("stream", write_lengths([5]), "--capacity", 8,
                             "--algorithm", "best", "--target", "unix:nobody"),
                   "best", "whole lists")


def test_a_histogram_takes_policies(folder):
    path = folder / "x.hist.csv"
    path.write_text("length,count\n0,3\n5,2\n25,4\n")
    packs = folder / "packs.jsonl"
    report = report_of("plan", path, "--capacity", 10, "--overlong", "split",
                       "--empty", "drop", "--packs", packs)
    lines = [json.loads(line) for line in packs.open()]
    held = [length for line in lines for _ in range(line["count"])
            for length in line["lengths"]]
    assert sorted(held) == [5] * 6 + [10] * 8
    assert report["packs"] == 11 == report["lower_bound_packs"]
    assert report["empty_sequences"] == 3 and report["split_sequences"] == 4
    assert report["tokens"] == report["packed_tokens"] == 110
