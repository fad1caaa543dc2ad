"""`packhouse verify`: accepts what is right and finds what is not."""

import json

import pytest

from conftest import assert_refused, packhouse, succeed

LENGTHS = [5, 3, 4, 4, 8]


def pack(*ordinals, **more):
    return {
        "ordinals": list(ordinals),
        "lengths": [LENGTHS[i] for i in ordinals],
        **more
    }


RIGHT = [pack(0, 1), pack(2, 3), pack(4)]


@pytest.fixture
def verify(write_lengths, folder):

    def run(packs, *options, capacity=8):
        path = folder / "packs.jsonl"
        if isinstance(packs, list):
            packs = "".join(json.dumps(each) + "\n" for each in packs)
        path.write_text(packs)
        return packhouse("verify", write_lengths(LENGTHS), path, "--capacity",
                         capacity, *options)

    return run


@pytest.mark.parametrize("packs", [
    RIGHT,
    # The order of release and the rule are not judged.
    [pack(4), pack(2, 3), pack(0, 1)],
    [pack(i) for i in range(5)],
])
def test_accepts(verify, packs):
    result = verify(packs)
    assert (result.returncode, result.stderr) == (0, ""), result
    assert result.stdout


def test_accepts_as_json(verify):
    result = verify(RIGHT, "--json")
    assert (result.returncode, result.stderr) == (0, ""), result
    report = json.loads(result.stdout)
    assert report["sequences"] == 5
    assert report["packs"] == 3


@pytest.mark.parametrize("packs, options, words", [
    # Twice in one pack, in two packs, never.
    ([pack(1, 1), pack(0), pack(2, 3), pack(4)], [], ["1"]),
    ([pack(0, 1), pack(1), pack(2, 3), pack(4)], [], ["1"]),
    ([pack(0, 1), pack(2), pack(4)], [], ["3"]),
    ([pack(0, 1), pack(2, 3)], [], ["4"]),
    # An ordinal that no sequence has.
    ([*RIGHT, {"ordinals": [5], "lengths": [1]}], [], ["5"]),
    ([*RIGHT, {"ordinals": [2**64 - 1], "lengths": [1]}], [], [2**64 - 1]),
    # Lengths of other sequences.
    ([{"ordinals": [0, 1], "lengths": [3, 5]}, *RIGHT[1:]], [], ["5", "3"]),
    # Over capacity: 5 + 4.
    ([pack(0, 2), pack(1, 3), pack(4)], [], ["9", "8"]),
    # One length too many.
    ([*RIGHT[:2], {"ordinals": [4], "lengths": [8, 8]}], [], ["line 3"]),
    # A pack of nothing.
    ([*RIGHT, pack()], [], ["empty"]),
    # Not in order.
    ([pack(1, 0), *RIGHT[1:]], [], ["0"]),
    # More sequences than allowed.
    (RIGHT, ["--max-sequences", 1], ["2", "1"]),
    # 5 and 3 rounded up to 8 and 4.
    (RIGHT, ["--alignment", 4], ["12", "8"]),
])
def test_finds(verify, packs, options, words):
    assert_refused(verify(packs, *options), *words, code=1)


def test_no_packs_at_all(verify, write_lengths, folder):
    assert_refused(verify([]), "0", "4", code=1)
    missing = folder / "missing.jsonl"
    assert_refused(
        packhouse("verify", write_lengths(LENGTHS), missing, "--capacity", 8),
        missing, "No such file")


def test_finding_many_stays_short(verify, folder, write_lengths):
    lengths = write_lengths([5] * 10_000)
    packs = folder / "packs.jsonl"
    packs.write_text('{"ordinals":[0,1],"lengths":[5,5]}\n')
    result = packhouse("verify", lengths, packs, "--capacity", 8)
    assert_refused(result, code=1)


@pytest.mark.parametrize("line", [
    "x",
    "{",
    "[]",
    "{}",
    '{"ordinals":[4]}',
    '{"lengths":[8]}',
    '{"ordinals":4,"lengths":[8]}',
    '{"ordinals":[-4],"lengths":[8]}',
    '{"ordinals":[4.5],"lengths":[8]}',
    '{"ordinals":["4"],"lengths":[8]}',
    '{"ordinals":[18446744073709551616],"lengths":[8]}',
    '{"ordinals":[4],"lengths":[4294967296]}',
    '{"ordinals":[4],"lengths":[8]} {"ordinals":[4],"lengths":[8]}',
    '{"ordinals":[4],"lengths":[8],"stream":1}',
    '{"ordinals":[4],"lengths":[8],"stream":-1}',
    '{"ordinals":[4],"lengths":[8]' + " " * 100_000,
])
def test_refuses_what_is_no_pack(verify, line):
    first = "".join(json.dumps(each) + "\n" for each in RIGHT[:2])
    assert_refused(verify(first + line + "\n"), "line 3")


def test_streams(verify):
    # Of two streams, 0 has the lengths 5, 4, 8 and 1 has 3, 4.
    right = [
        {"ordinals": [0], "lengths": [5], "stream": 0},
        {"ordinals": [1], "lengths": [4], "stream": 0},
        {"ordinals": [2], "lengths": [8], "stream": 0},
        {"ordinals": [0, 1], "lengths": [3, 4], "stream": 1},
    ]
    assert verify(right, "--streams", 2).returncode == 0
    # A stream without its last pack, packs of another stream, no stream.
    assert_refused(verify(right[:3], "--streams", 2), code=1)
    moved = [*right[:3], {**right[3], "stream": 0}]
    assert_refused(verify(moved, "--streams", 2), code=1)
    assert_refused(verify(RIGHT, "--streams", 2), "line 1")
    beyond = [{**right[0], "stream": 2}, *right[1:]]
    assert_refused(verify(beyond, "--streams", 2), "line 1", "2", code=1)


def test_packs_of_a_histogram_name_no_sequences(folder):
    lengths = folder / "lengths.hist.csv"
    lengths.write_text("length,count\n3,2\n5,2\n")
    packs = folder / "packs.jsonl"
    succeed("plan", lengths, "--capacity", 8, "--packs", packs)
    assert_refused(packhouse("verify", lengths, packs, "--capacity", 8))
