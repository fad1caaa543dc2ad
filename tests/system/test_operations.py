"""A packhoused in trouble: full, drained, out of file descriptors, with clients
that stand still or go away."""

import json
import os
import pathlib
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from conftest import (BIN, WAIT_S, assert_one_line, assert_refused, get,
                      packhouse, report_of, run_packhoused, succeed)
from proxy import Proxy


def status_of(server):
    return report_of("status", "--target", server.targets[0])


def wait_until(holds):
    """Asks again until it holds; what it asks takes its time."""
    deadline = time.monotonic() + WAIT_S
    while not holds():
        assert time.monotonic() < deadline


def process_status(server, *names):
    text = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return [int(re.search(rf"^{name}:\s+(\d+)", text, re.M)[1])
            for name in names]


def start_stuck_stream(folder, name, lengths, hold_after, window=64):
    """A stream that stands still when so many bytes have gone to the server,
    and the proxy between the two that passes no more on."""
    path = folder / name
    proxy = Proxy(path, folder / "server.sock", hold_after=hold_after,
                  answers=100)
    client = subprocess.Popen(
        [BIN / "packhouse", "stream", lengths, "--target", f"unix:{path}",
         "--capacity", "2048", "--window", str(window)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return client, proxy


def end_stuck_stream(client, proxy):
    client.kill()
    client.wait(WAIT_S)
    proxy.close()


@pytest.fixture
def stuck_streams(folder, write_lengths):
    """Starts streams that stand still in the middle: each has a proxy between
    itself and the server that passes no more requests on."""
    started = []

    def start(server, count, window=64):
        lengths = write_lengths(
            (1 + i * 7919 % 2048 for i in range(300_000)), "stuck.txt")
        for _ in range(count):
            started.append(start_stuck_stream(
                folder, f"proxy-{len(started)}.sock", lengths, 50_000, window))
        for _, proxy in started[-count:]:
            assert proxy.held.wait(WAIT_S)
        return started[-count:]

    yield start
    for client, proxy in started:
        end_stuck_stream(client, proxy)


# ---- packhouse status


def test_status_of_an_idle_server(servers, folder):
    server = servers.start(options=["--max-memory", "512M", "--max-streams", "7",
                                    "--packing-threads", "3"])
    status = status_of(server)
    assert status["streams"] == []
    told = status["server"]
    assert told["pid"] == server.process.pid
    assert told["max_memory_bytes"] == 512 << 20
    assert told["max_streams"] == 7
    assert told["packing_threads"] == 3
    assert not told["draining"]
    assert told["committed_bytes"] == told["stream_count"] == 0
    text = succeed("status", "--target", server.targets[0])
    assert "serving" in text and "0 of 7" in text and "512.0 MiB" in text


def test_status_shows_open_streams(servers, stuck_streams):
    server = servers.start()
    stuck_streams(server, 3)
    status = status_of(server)
    assert len(status["streams"]) == status["server"]["stream_count"] == 3
    for stream in status["streams"]:
        assert stream["algorithm"] == "spfhp"
        assert stream["window"] == 64
        assert 0 < stream["sequences"] <= stream["max_sequences"]
        assert stream["received_number"] < stream["max_number"]
        assert stream["pending_units"] < 64
        assert 0 <= stream["idle_seconds"] <= stream["age_seconds"]
    assert status["server"]["committed_bytes"] == sum(
        stream["memory_bound_bytes"] for stream in status["streams"])
    lines = succeed("status", "--target", server.targets[0]).splitlines()
    assert sum("spfhp" in line for line in lines) == 3


def test_status_of_nobody(folder):
    result = packhouse("status", "--target", f"unix:{folder}/none")
    assert_refused(result, f"unix:{folder}/none", "No such file or directory",
                   code=1)


def test_status_of_the_first_that_answers(servers, folder):
    target = servers.start().targets[0]
    nobody = f"unix:{folder}/none"
    status = report_of("status", "--target", f"{nobody},{target}")
    assert status["server"]["stream_count"] == 0
    assert_refused(packhouse("status", "--target", f"{target},nonsense"),
                   "nonsense")


# ---- Full


def test_a_full_server_says_so(servers, stuck_streams, write_lengths):
    server = servers.start(options=["--max-streams", "2"])
    (client, proxy), _ = stuck_streams(server, 2)
    lengths = write_lengths([5, 3])
    arguments = ["stream", lengths, "--target", server.targets[0],
                 "--capacity", 8, "--unavailable-for", 2]
    result = packhouse(*arguments)
    assert result.returncode != 0
    assert_one_line(result.stderr, "full", "2")
    # No wrong usage either where there is no second try.
    assert_refused(packhouse(*arguments[:-1], 0), "full", code=1)
    assert_refused(packhouse("bench", "service", *arguments[1:6]), "full",
                   code=1)
    client.kill()
    proxy.close()
    wait_until(lambda: packhouse(*arguments).returncode == 0)


def test_memory_is_a_limit(servers, stuck_streams, write_lengths):
    server = servers.start(options=["--max-memory", "100M"])
    stuck_streams(server, 1, window=500_000)
    result = packhouse("stream", write_lengths([5, 3]), "--target",
                       server.targets[0], "--capacity", 8, "--window", 500_000,
                       "--unavailable-for", 2)
    assert result.returncode != 0
    assert_one_line(result.stderr, "full", "memory", 100 << 20)
    # A smaller one fits.
    assert report_of("stream", write_lengths([5, 3]), "--target",
                     server.targets[0], "--capacity", 8)["packs"] == 1


@pytest.mark.parametrize("option, value", [
    ("--max-memory", "0"), ("--max-memory", "1M"), ("--max-memory", "-1"), ("--max-memory", "lots"),
    ("--max-memory", "2000G"), ("--max-streams", "0"), ("--max-streams", "x"),
    ("--idle-timeout", "-1"), ("--idle-timeout", "nan"),
    ("--packing-threads", "-1"), ("--packing-threads", "1025"),
])
def test_limits_have_ranges(folder, option, value):
    result = run_packhoused("--listen", f"unix:{folder}/s",
                            f"{option}={value}")
    assert result.returncode == 2
    assert_one_line(result.stderr, option)


def test_bounds_are_told_at_the_start(servers):
    server = servers.start(options=["--log-format", "json", "--max-memory",
                                    "1G", "--idle-timeout", "60"])
    lines = [json.loads(line) for line in server.log().splitlines()]
    assert lines[0]["packing_threads"] >= 2
    assert lines[0]["default_stream_bytes"] > 100_000
    settings = {}
    for line in lines:
        settings.update(line)
    assert settings["max-memory"] == "1G"
    assert settings["idle-timeout"] == "60"
    assert settings["max-streams"] == "4096"


# Sanitizers are built without benchmarks; they keep memory that was freed and
# open files of their own.
unsanitized = pytest.mark.skipif(not (BIN / "stream_memory").exists(),
                                 reason="not with a sanitizer")


# Clients that send a million lengths and never read: memory levels off below
# what the server counts them for.
@unsanitized
def test_memory_of_streams_that_nobody_reads():
    measure = BIN / "stream_memory"
    result = subprocess.run([measure, BIN / "packhoused"],
                            capture_output=True, text=True, timeout=2 * WAIT_S)
    assert result.returncode == 0, result.stdout


# ---- Idle


def test_an_idle_stream_ends(servers, stuck_streams):
    server = servers.start(http="127.0.0.1:0",
                           options=["--idle-timeout", "0.2"])
    stuck_streams(server, 1)
    wait_until(lambda: "DEADLINE_EXCEEDED" in server.log())
    ended = [line for line in server.log().splitlines()
             if "stream ended" in line]
    assert re.search(r" stream_id=[0-9a-f]{32} ", ended[0]), ended
    assert "IDLE" not in server.log()  # a reason is for programs
    wait_until(lambda: status_of(server)["streams"] == [])


# ---- Stop


def test_drain_tells_and_cuts_what_stays(servers, stuck_streams):
    server = servers.start(options=["--grace", "0.2", "--log-format", "json"])
    stuck_streams(server, 2)
    before = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - before < WAIT_S / 2
    last = json.loads(server.log().splitlines()[-1])
    assert last["message"] == "stopped"
    assert last["drained_streams"] + last["cut_streams"] == 2


def test_clients_that_leave_while_draining_are_no_error(servers,
                                                        stuck_streams):
    server = servers.start(http="127.0.0.1:0",
                           options=["--grace", "60", "--log-format", "json"])
    streams = stuck_streams(server, 2)
    server.send(signal.SIGTERM)
    wait_until(lambda: get(server, "/healthz").status == 503)
    for client, proxy in streams:
        end_stuck_stream(client, proxy)
    assert server.process.wait(WAIT_S) == 0
    lines = [json.loads(line) for line in server.log().splitlines()]
    assert lines[-1]["drained_streams"] == 2
    assert lines[-1]["cut_streams"] == 0
    assert not any(line["level"] == "warning" for line in lines)


def test_new_streams_are_refused_while_draining(servers, stuck_streams,
                                                write_lengths):
    server = servers.start(http="127.0.0.1:0", options=["--grace", "60"])
    stuck_streams(server, 1)
    server.send(signal.SIGTERM)
    wait_until(lambda: get(server, "/healthz").status == 503)
    assert status_of(server)["server"]["draining"]
    assert_refused(packhouse("health", "--target", server.targets[0]),
                   "NOT_SERVING", code=1)
    result = packhouse("stream", write_lengths([5]), "--target",
                       server.targets[0], "--capacity", 8, "--unavailable-for", 1)
    assert result.returncode == 1
    assert_one_line(result.stderr, "stopping")
    # A second signal ends it at once.
    assert server.stop() == 1


def test_heavy_work_does_not_hold_up_the_stop(servers, write_lengths):
    # Some ten seconds of packing in one flush, which nobody will read.
    server = servers.start(options=["--grace", "0.1"])
    lengths = write_lengths(1 + i * 7919 % 32768 for i in range(60_000))
    client = subprocess.Popen(
        [BIN / "packhouse", "stream", lengths, "--target", server.targets[0],
         "--capacity", "32768", "--algorithm", "sliding", "--effort",
         "thorough", "--window", "100000", "--unavailable-for", "100"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: any(stream["received_number"] > 0
                               for stream in status_of(server)["streams"]))
        before = time.monotonic()
        assert server.stop() == 0
        assert time.monotonic() - before < 5
    finally:
        client.kill()
        client.wait(WAIT_S)


# ---- File descriptors


@unsanitized
def test_full_descriptor_table(servers, folder, write_lengths):
    server = servers.start()
    pid = server.process.pid
    used = len(os.listdir(f"/proc/{pid}/fd"))
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (used + 8, used + 8))
    connections = []
    try:
        for _ in range(40):
            connection = socket.socket(socket.AF_UNIX)
            connection.setblocking(False)
            connections.append(connection)
            try:
                connection.connect(str(folder / "server.sock"))
            except BlockingIOError:
                break
        wait_until(lambda: len(os.listdir(f"/proc/{pid}/fd")) >= used + 8)
        assert packhouse("health", "--target", server.targets[0],
                         "--answer-within", 1).returncode == 1
        assert server.process.poll() is None
    finally:
        for connection in connections:
            connection.close()
    wait_until(lambda: packhouse("health", "--target", server.targets[0],
                                 "--answer-within", 5).returncode == 0)
    assert report_of("stream", write_lengths([5, 3]), "--target",
                     server.targets[0], "--capacity", 8)["packs"] == 1


# ---- Many streams


def test_128_streams_of_one_client(servers, write_lengths):
    server = servers.start()
    lengths = write_lengths(1 + i * 7919 % 509 for i in range(20_000))
    report = report_of("stream", lengths, "--target", server.targets[0],
                       "--capacity", 512, "--window", 32, "--streams", 128)
    assert report["sequences"] == 20_000


@unsanitized
def test_cancelled_streams_leave_nothing(servers, folder, write_lengths):
    server = servers.start()
    lengths = write_lengths(1 + i * 7919 % 2048 for i in range(300_000))

    def cancel(times):
        for _ in range(times):
            client, proxy = start_stuck_stream(
                folder, f"cancel-{time.monotonic_ns()}.sock", lengths, 20_000)
            assert proxy.held.wait(WAIT_S)
            end_stuck_stream(client, proxy)
        wait_until(lambda: status_of(server)["streams"] == [])

    cancel(20)
    threads, memory = process_status(server, "Threads", "VmRSS")
    cancel(100)
    threads_after, memory_after = process_status(server, "Threads", "VmRSS")
    assert threads_after <= threads + 2
    assert memory_after < memory + 4096  # KiB
    wait_until(lambda: status_of(server)["server"]["committed_bytes"] == 0)


def test_few_threads(servers, write_lengths):
    # What gRPC starts on this machine, the pages, the pool.
    server = servers.start(http="127.0.0.1:0",
                           options=["--packing-threads", "2"])
    lengths = write_lengths(1 + i * 7919 % 509 for i in range(20_000))
    succeed("stream", lengths, "--target", server.targets[0], "--capacity", 512,
            "--streams", 100)
    assert process_status(server, "Threads")[0] <= 48 + 2 * os.cpu_count()
