"""The program that comes with the package: the command line, in Python."""

import json
import subprocess
import sys

import packhouse
import pytest


def run(*arguments, stdin=None):
    return subprocess.run(
        [sys.executable, "-m", "packhouse", *map(str, arguments)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def lengths(tmp_path, random):
    path = tmp_path / "lengths.txt"
    values = random.integers(1, 101, 500).tolist()
    path.write_text("".join(f"{value}\n" for value in values))
    return path


def test_plan_and_verify(lengths, tmp_path):
    packs = tmp_path / "packs.jsonl"
    done = run("plan", lengths, "--capacity", 100, "--packs", packs, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    values = [int(line) for line in lengths.read_text().split()]
    plan = packhouse.plan(values, 100)
    assert report["packs"] == len(plan)
    assert packhouse.Packs.load(packs, plan.spec) == plan
    mine = tmp_path / "mine.jsonl"
    plan.save(mine)
    assert mine.read_bytes() == packs.read_bytes()
    assert run("verify", lengths, mine, "--capacity", 100).returncode == 0
    assert run("verify", lengths, mine, "--capacity", 90).returncode != 0


def test_advise_and_masks(lengths):
    done = run("advise", lengths, "--capacity", 100, "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)
    done = run("masks", "--rows", "2,1", "--capacity", 4)
    assert (done.returncode, done.stderr) == (0, "")


def test_standard_input():
    done = run("plan", "-", "--capacity", 10, "--json", stdin="5\n3\n8\n2\n")
    assert json.loads(done.stdout)["packs"] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ["stream", "lengths", "--capacity", 100, "--target", "unix:/x"],
        ["health", "--target", "unix:/x"],
        ["status", "--target", "unix:/x"],
        ["bench", "service", "--target", "unix:/x"],
    ],
)
def test_what_needs_a_server_says_so(arguments, lengths):
    done = run(*[lengths if a == "lengths" else a for a in arguments])
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "without gRPC" in done.stderr


def test_errors_are_one_line():
    done = run("plan", "/no/such", "--capacity", 10)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert run("plan", "--help").returncode == 0
