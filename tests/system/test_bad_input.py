"""What a user can get wrong: one clear line, the right exit code, nothing half
done."""

import gzip
import subprocess

import pytest

from conftest import (BIN, WAIT_S, assert_one_line, assert_refused, packhouse,
                      run_packhoused)

COMMANDS = ["plan", "stream"]


@pytest.fixture(params=COMMANDS)
def refused(request, folder, shared_server):
    """Runs plan or stream, once with a new packs file and once with an old
    one: both times it must be refused and leave the folder as it is."""

    def run(lengths, *options, words=(), code=2):
        target = ["--target", shared_server.targets[0]]
        arguments = [
            request.param, lengths, *options,
            *(target if request.param == "stream" else [])
        ]
        before = sorted(folder.iterdir())
        new = folder / "new.jsonl"
        assert_refused(packhouse(*arguments, "--packs", new), *words,
                       code=code)
        assert sorted(folder.iterdir()) == before
        old = folder / "old.jsonl"
        old.write_text("what was here\n")
        before = sorted(folder.iterdir())
        assert_refused(packhouse(*arguments, "--packs", old, "--json"), *words,
                       code=code)
        assert sorted(folder.iterdir()) == before
        assert old.read_text() == "what was here\n"

    return run


@pytest.mark.parametrize("bad, words", [
    ("-3", ["line 3", "-3"]),
    ("-9223372036854775808", ["line 3", "-9223372036854775808"]),
    ("4294967296", ["line 3", "4294967296", 2**32 - 1]),
    ("4294967297", ["line 3", "4294967297"]),
    ("9223372036854775807", ["line 3", "9223372036854775807"]),
    ("18446744073709551616", ["line 3", "18446744073709551616"]),
    ("1" * 5000, ["line 3"]),
    ("abc", ["line 3", "abc"]),
    ("12abc", ["line 3", "12abc"]),
    ("1.5", ["line 3", "1.5"]),
    ("1e3", ["line 3", "1e3"]),
    ("0x10", ["line 3", "0x10"]),
    ("+5", ["line 3", "+5"]),
    ("1,000", ["line 3", "1,000"]),
    ("1 2", ["line 3", "1 2"]),
    ("-", ["line 3"]),
    ("1\x002", ["line 3"]),
    ("\x1b[31m", ["line 3"]),
    ("é", ["line 3"]),
    ("x" * 1_000_000, ["line 3", "xxx"]),
], ids=lambda value: ascii(value)[:30])
def test_line_that_is_no_length(refused, folder, bad, words):
    lengths = folder / "lengths.txt"
    lengths.write_text(f"5\n3\n{bad}\n4\n")
    refused(lengths, "--capacity", 8, words=[lengths, *words])


@pytest.mark.parametrize("lengths, options, words", [
    ([5, 0, 3], ["--capacity", 8], ["ordinal 1", "0"]),
    ([12], ["--capacity", 8], ["ordinal 0", "12", "8"]),
    ([513], ["--capacity", 512], ["ordinal 0", "513", "512"]),
    ([5, 6], ["--capacity", 4], ["0", "5", "1", "6", "4"]),
    ([2**32 - 1], ["--capacity", 2**31 - 1], [2**32 - 1, 2**31 - 1]),
    # Fits as it is, but not rounded up.
    ([5, 9], ["--capacity", 10, "--alignment", 4], ["1", "9", "12", "10"]),
])
def test_sequence_that_cannot_be_packed(refused, write_lengths, lengths,
                                        options, words):
    path = write_lengths(lengths)
    refused(path, *options, words=[path, *words])


def test_many_offenders(refused, write_lengths):
    refused(write_lengths([4, 0, 12] * 10_000), "--capacity", 8,
            words=["ordinal 1", "ordinal 2", "12", "8", 20_000])


@pytest.mark.parametrize("name, content, options", [
    ("empty.txt", b"", []),
    ("blank.txt", b"\n \n", []),
    ("empty.txt.gz", gzip.compress(b""), []),
    ("cut.txt.gz", gzip.compress(b"5\n3\n" * 1000)[:-20], []),
    ("bytes.txt", bytes(range(256)), []),
    ("cut.npy", b"\x93NUMPY\x01\x00", []),
    ("text.npy", b"5\n3\n", []),
    ("records.jsonl", b'{"n":5}\n', []),
    ("records.jsonl", b'{"n":5}\n', ["--field", "m"]),
    ("records.jsonl", b'{"n":"5"}\n', ["--field", "n"]),
    ("records.jsonl", b'{"n":5.5}\n', ["--field", "n"]),
    ("records.jsonl", b'{"n":-5}\n', ["--field", "n"]),
    ("records.jsonl", b'{"n":4294967296}\n', ["--field", "n"]),
    ("records.jsonl", b"5\n", ["--field", "n"]),
    ("h.hist.csv", b"length,count\n", []),
    ("h.hist.csv", b"length,count\n5,0\n", []),
    ("h.hist.csv", b"5,1\n", []),
    ("h.hist.csv", b"length,count\n5\n", []),
    ("h.hist.csv", b"length,count\n5,-1\n", []),
    ("h.hist.csv", b"length,count\n5,99999999999999999999\n", []),
    ("h.hist.csv", b"length,count\n0,1\n", []),
    ("h.hist.csv", b"length,count\n12,1\n", []),
])
def test_file_that_is_no_list(refused, folder, name, content, options):
    lengths = folder / name
    lengths.write_bytes(content)
    refused(lengths, "--capacity", 8, *options)


def test_no_such_file(refused, folder):
    refused(folder / "nothing", "--capacity", 8,
            words=[folder / "nothing", "No such file"])
    refused(folder, "--capacity", 8, words=[folder, "is a directory"])


@pytest.mark.parametrize("options, words", [
    ([], ["--capacity"]),
    (["--capacity", ""], ["--capacity"]),
    (["--capacity", "x"], ["--capacity", "x"]),
    (["--capacity", "8.5"], ["--capacity", "8.5"]),
    (["--capacity", 0], ["--capacity", "0", "1 to 2147483647"]),
    (["--capacity", -1], ["--capacity", "-1", "1 to 2147483647"]),
    (["--capacity", 2**31], ["--capacity", 2**31, 2**31 - 1]),
    (["--capacity", 2**64], ["--capacity", 2**64, 2**31 - 1]),
    (["--capacity", 8, "--window", 0], ["--window", "0"]),
    (["--capacity", 8, "--window", -1], ["--window", "-1"]),
    (["--capacity", 8, "--window", 2**31], ["--window", 2**31]),
    (["--capacity", 8, "--max-sequences", -1], ["--max-sequences", "-1"]),
    (["--capacity", 8, "--alignment", 0], ["--alignment", "0"]),
    (["--capacity", 8, "--alignment", 9], ["--alignment", "9", "1 to 8"]),
    (["--capacity", 8, "--algorithm", "best-fit"],
     ["--algorithm", "best-fit", "spfhp", "lpfhp"]),
    (["--capacity", 8, "--algorithm", "x" * 100_000], ["spfhp", "lpfhp"]),
    # Both at once.
    (["--capacity", 8, "--alignment", 9, "--algorithm", "x"],
     ["--alignment", "9", "--algorithm", "x", "lpfhp"]),
    # Options that this build does not have are refused, never ignored.
    (["--capacity", 8, "--colour", "red"], ["unknown option --colour"]),
    (["--cap", 8], ["unknown option --cap"]),
    (["--capacity", 8, "--overlong", "cut"], ["--overlong", "cut", "split"]),
    (["--capacity", 8, "--empty", "keep"], ["--empty", "keep", "drop"]),
    (["--capacity", 8, "--seed", 2**64], ["--seed", 2**64, 2**64 - 1]),
    (["--capacity", 8, "--effort", "fast"], ["effort", "sliding", "spfhp"]),
    (["--capacity", 8, "--max-displacement", 9], ["sliding", "spfhp"]),
    (["--capacity", 8, "--budget", 1], ["best", "spfhp"]),
    (["--capacity", 8, "--budget", "nan"], ["--budget", "nan"]),
    (["--capacity", 8, "another"], ["another"]),
])
def test_wrong_options(refused, write_lengths, options, words):
    refused(write_lengths([5, 3]), *options, words=words)


@pytest.mark.parametrize("arguments", [
    [],
    ["pack"],
    ["--colour"],
    ["plan"],
    ["plan", "--streams", "2", "{lengths}", "--capacity", "8"],
    ["plan", "--target", "unix:x", "{lengths}", "--capacity", "8"],
    ["stream", "{lengths}", "--capacity", "8"],
    ["verify", "{lengths}", "--capacity", "8"],
    ["health"],
    ["health", "--target"],
], ids=" ".join)
def test_wrong_commands(write_lengths, arguments):
    path = str(write_lengths([5, 3]))
    assert_refused(
        packhouse(*(word.replace("{lengths}", path) for word in arguments)))


@pytest.mark.parametrize("streams", ["0", "-1", "x", "1.5", 10**12])
def test_wrong_streams(write_lengths, shared_server, streams):
    assert_refused(
        packhouse("stream", write_lengths([5, 3]), "--target",
                  shared_server.targets[0], "--capacity", 8, "--streams",
                  streams), "streams")


@pytest.mark.parametrize("target", [
    "", "unix:", "unix:" + "x" * 200, "localhost", "localhost:", ":1",
    "localhost:x", "localhost:70000", "http://localhost:80", "a b:1",
    "[::1:5"
])
def test_wrong_target(write_lengths, target):
    assert_refused(
        packhouse("stream", write_lengths([5, 3]), "--target", target,
                  "--capacity", 8))
    assert_refused(packhouse("health", "--target", target))


@pytest.mark.parametrize("command", COMMANDS)
def test_packs_that_cannot_be_written(command, write_lengths, folder,
                                      shared_server):
    target = (["--target", shared_server.targets[0]]
              if command == "stream" else [])
    for packs in [folder / "missing" / "packs.jsonl", folder]:
        assert_refused(
            packhouse(command, write_lengths([5, 3]), "--capacity", 8,
                      *target, "--packs", packs), folder)


@pytest.mark.parametrize("packs", ["lengths.txt", "link"])
@pytest.mark.parametrize("command", COMMANDS)
def test_packs_never_replace_their_lengths(command, packs, write_lengths,
                                           folder, shared_server):
    lengths = write_lengths([5, 3])
    (folder / "link").symlink_to(lengths)
    target = (["--target", shared_server.targets[0]]
              if command == "stream" else [])
    options = ["--capacity", 8, *target, "--packs", folder / packs]
    assert_refused(packhouse(command, lengths, *options), packs)
    with lengths.open() as file:  # as its own standard input
        result = subprocess.run(
            [BIN / "packhouse", command, "-", *map(str, options)], stdin=file,
            capture_output=True, text=True, timeout=WAIT_S)
    assert_refused(result, packs)
    assert lengths.read_text() == "5\n3\n"


def test_window_that_the_server_does_not_allow(servers, write_lengths, folder):
    server = servers.start(options=["--max-window", "100"])
    packs = folder / "packs.jsonl"
    stream = ["stream", write_lengths([5, 3]), "--target", server.targets[0],
              "--capacity", 8, "--packs", packs]
    # Nothing had started, so it is the arguments that are wrong.
    assert_refused(packhouse(*stream, "--window", 101), "--window", 101, 100)
    assert_refused(packhouse(*stream, "--window", 101, "--streams", 2),
                   "--window", 101, 100)
    assert not packs.exists()
    assert packhouse(*stream, "--window", 100).returncode == 0


def test_full_disk(write_lengths):
    # All is well until the packs are written: work that could not be finished.
    result = packhouse("plan", write_lengths([5, 3]), "--capacity", 8,
                       "--packs", "/dev/full")
    assert_refused(result, "/dev/full", code=1)


def test_list_that_is_in_no_file(folder):
    assert_refused(packhouse("plan", "-", "--capacity", 8, stdin=""))
    assert_refused(
        packhouse("plan", "-", "--capacity", 8, stdin="5\nx\n"), "line 2", "x")


@pytest.mark.parametrize("arguments", [
    ["--help"],
    ["plan", "--help"],
    ["stream", "--help"],
    ["verify", "--help"],
    ["health", "--help"],
    ["help"],
    ["help", "plan"],
], ids=" ".join)
def test_help(arguments):
    result = packhouse(*arguments)
    assert (result.returncode, result.stderr) == (0, "")
    assert "--help" in result.stdout


def test_server_help():
    result = run_packhoused("--help")
    assert (result.returncode, result.stderr) == (0, "")
    for option in ["--listen", "--http", "--insecure"]:
        assert option in result.stdout


@pytest.mark.parametrize("arguments, words", [
    ([], ["--listen"]),
    (["--listen"], ["--listen"]),
    (["--listen", ""], []),
    (["--listen", "unix:"], []),
    (["--listen", "unix:/tmp/" + "x" * 103], ["108", "107"]),
    (["--listen", "127.0.0.1"], ["127.0.0.1"]),
    (["--listen", "127.0.0.1:x"], ["127.0.0.1:x"]),
    (["--listen", "127.0.0.1:65536"], ["65536", "65535"]),
    (["--listen", "127.0.0.1:0", "--http", "x"], ["x"]),
    (["--listen", "127.0.0.1:0", "--colour", "red"], ["--colour"]),
    (["--listen", "127.0.0.1:0", "--grace", "9" * 100000], ["--grace"]),
    # In plain text only where nobody else can listen.
    (["--listen", "0.0.0.0:0"], ["0.0.0.0:0", "--insecure"]),
    (["--listen", "[::]:0"], ["[::]:0", "--insecure"]),
    (["--listen", "127.0.0.1:0", "--listen", "0.0.0.0:0"], ["--insecure"]),
    # No address of this machine (TEST-NET-1).
    (["--listen", "192.0.2.1:0", "--insecure"], ["192.0.2.1:0"]),
])
def test_server_refuses(arguments, words):
    result = run_packhoused(*arguments)
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert_one_line(result.stderr, *words)
