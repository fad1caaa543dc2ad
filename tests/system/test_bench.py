"""`packhouse bench service` against real servers, and the script that measures
with it."""

import json
import os
import re
import subprocess

import pytest

from conftest import (BIN, DATA, ROOT, WAIT_S, assert_one_line, assert_refused, get,
                      packhouse, report_of, succeed)

LOAD = ("--seconds", 0.2, "--batch", 64, "--capacity", 1024)
GSM8K = DATA / "gsm8k_train_cl100k.txt.gz"


@pytest.mark.parametrize("streams", [1, 7])
def test_reports_what_was_answered(shared_server, streams):
    for target in shared_server.targets:
        report = report_of("bench", "service", GSM8K, "--target", target, *LOAD,
                           "--streams", streams)
        assert report["batches"] > 0
        assert report["sequences"] == 64 * report["batches"]
        # Mean lengths of 160 in packs of 1024.
        assert 4 < report["sequences"] / report["packs"] < 9
        assert report["failures"] == {} and report["refused_batches"] == 0
        assert (report["streams"], report["batch"], report["capacity"],
                report["window"]) == (streams, 64, 1024, 1024)
        trips = report["round_trip_us"]
        assert 0 < trips["p50"] <= trips["p90"] <= trips["p99"] <= trips["max"]
        assert trips["p99"] <= trips["worst_stream_p99"] <= trips["max"]


def test_table(shared_server):
    text = succeed("bench", "service", "--target", shared_server.targets[0],
                   "--seconds", 0.1, "--streams", 3)
    for word in ("3 streams", "batches of 4,096", "16 in flight",
                 "packs of 8,192", "p99", "of the worst stream"):
        assert word in text


def test_no_seconds_open_and_end_streams(shared_server):
    report = report_of("bench", "service", "--target", shared_server.targets[0],
                       "--seconds", 0, "--streams", 50)
    assert (report["batches"], report["seconds"], report["failures"]) == (0, 0, {})


def test_a_server_that_dies_is_a_failure(servers):
    server = servers.start(http="127.0.0.1:0")
    process = subprocess.Popen(
        [BIN / "packhouse", "bench", "service", "--target", server.targets[0],
         "--seconds", str(WAIT_S), "--streams", "3", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    # Until it has something to lose.
    while "\npackhouse_streams 3\n" not in get(server, "/metrics").text:
        assert process.poll() is None
    server.kill()
    out, err = process.communicate(timeout=WAIT_S)
    assert process.returncode == 1
    assert_one_line(err, "UNAVAILABLE")
    assert json.loads(out)["failures"] == {"UNAVAILABLE": 3}


def test_refusals(folder, shared_server, write_lengths):
    nobody = f"unix:{folder}/nobody.sock"
    assert_refused(packhouse("bench", "service", "--target", nobody),
                   "nobody.sock", "No such file or directory", code=1)
    target = shared_server.targets[0]
    assert_refused(packhouse("bench", "service", "--target",
                             f"{nobody},{target}"), "one server")
    assert_refused(packhouse("bench", "service", write_lengths([9]), "--target",
                             target, "--capacity", 8), "--overlong")
    assert_refused(packhouse("bench", "service", "--target", target, "--window",
                             2**20), "window", 2**20, 2**19)


def run_script(name, *arguments):
    """The output of a script of bench/ on the programs under test."""
    result = subprocess.run([ROOT / "bench" / name, *arguments],
                            env={**os.environ, "PACKHOUSE_BIN": str(BIN)},
                            capture_output=True, text=True, timeout=4 * WAIT_S)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_measuring_script():
    if not (BIN / "echo_server").exists():
        pytest.skip("this build has no benchmarks")
    output = run_script("service", "--quick")
    tables = re.findall(r"(?:^\|.*\n)+", output, re.M)
    assert [len(table.splitlines()) - 2 for table in tables] == [1, 3, 2, 3, 3]
    assert "nan" not in output


def test_soaking_script():
    output = run_script("soak", "--minutes", "0.01", "--seconds", "0.1")
    head, *rounds, last = output.splitlines()
    assert head.split() == ["round", "minutes", "MiB", "threads", "files"]
    for number, line in enumerate(rounds, 1):
        assert line.split()[0] == str(number)
        assert all(float(value) > 0 for value in line.split()[2:])
    assert rounds and last.endswith("none lost")
