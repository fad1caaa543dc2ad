"""Streams go on where anything that they rest on has gone: packs files are
those of an unbroken run, byte for byte. Zero lost, zero repeated."""

import os
import random
import signal
import subprocess

import pytest

from conftest import BIN, WAIT_S, get, spec_arguments, succeed
from proxy import CuttingProxy

CAPACITY = 2048
LENGTHS = 400_000

# A hundred take a minute.
KILLS = 100 if os.environ.get("PACKHOUSE_LONG_TESTS") else 20


@pytest.fixture
def seed(request):
    """Drawn anew each time; a failing test prints it."""
    value = int(os.environ.get("PACKHOUSE_SEED", random.randrange(2**32)))
    print(f"PACKHOUSE_SEED={value} replays this")
    return value


class Run:
    """`packhouse stream` under way, and the packs that it has to give."""

    def __init__(self, folder, write_lengths, targets, *options, streams=1,
                 count=LENGTHS, **spec):
        self.lengths = write_lengths(1 + i * 7919 % CAPACITY
                                     for i in range(count))
        self.packs = folder / "packs.jsonl"
        self.expected = folder / "expected.jsonl"
        self.arguments = [
            *spec_arguments(capacity=CAPACITY, **spec), "--streams", streams
        ]
        self.process = subprocess.Popen(
            [
                str(word) for word in (
                    BIN / "packhouse", "stream", self.lengths, "--target",
                    ",".join(targets), *self.arguments, "--packs", self.packs,
                    *options)
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def is_over(self):
        return self.process.poll() is not None

    def check(self, whole_server):
        """Waits for the end, and compares with a run that nothing breaks."""
        _, errors = self.process.communicate(timeout=WAIT_S)
        assert (self.process.returncode, errors) == (0, "")
        succeed("stream", self.lengths, "--target", whole_server.targets[0],
                *self.arguments, "--packs", self.expected)
        assert self.packs.read_bytes() == self.expected.read_bytes()


@pytest.fixture
def run(folder, write_lengths):
    started = []

    def start(*arguments, **options):
        started.append(Run(folder, write_lengths, *arguments, **options))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.communicate(timeout=WAIT_S)


def sequences(server):
    """How many sequences a server has taken, by its metrics."""
    for line in get(server, "/metrics").text.splitlines():
        if line.startswith("packhouse_sequences_total "):
            return float(line.split()[1])
    raise AssertionError("no packhouse_sequences_total")


def wait_for_sequences(server, count, run):
    """Until a server has taken so many sequences, or the run is over."""
    while not run.is_over() and sequences(server) < count:
        pass


@pytest.mark.longer
def test_server_is_killed_again_and_again(servers, folder, run, seed):
    choose = random.Random(seed)
    listen = f"unix:{folder}/server.sock"
    server = servers.start(listen, http="127.0.0.1:0")
    kills = 0
    while kills < KILLS:
        stream = run(server.targets, streams=8, count=8 * LENGTHS, window=256,
                     algorithm="sliding")
        while kills < KILLS and not stream.is_over():
            # Mostly while streams connect and send again what was lost; now
            # and then later, so that they get on.
            most = 50_000 if choose.randrange(5) else 1_000_000
            wait_for_sequences(server, choose.randrange(most), stream)
            server.stop(signal.SIGKILL)
            kills += 1
            server = servers.start(listen, http="127.0.0.1:0")
        stream.check(server)


def test_server_falls_silent_and_comes_back(servers, folder, run):
    first = servers.start(f"unix:{folder}/a.sock", http="127.0.0.1:0")
    second = servers.start(f"unix:{folder}/b.sock", http="127.0.0.1:0")
    stream = run(first.targets + second.targets, "--answer-within", 1,
                 streams=8, window=256)
    wait_for_sequences(first, 1, stream)
    first.send(signal.SIGSTOP)
    wait_for_sequences(second, 1, stream)
    first.send(signal.SIGCONT)
    stream.check(second)


def test_only_server_stands_still_for_a_time(servers, folder, run):
    server = servers.start(f"unix:{folder}/a.sock", http="127.0.0.1:0")
    stream = run(server.targets, "--answer-within", 0.2, "--unavailable-for",
                 60, streams=2, window=256)
    wait_for_sequences(server, 1, stream)
    server.send(signal.SIGSTOP)
    # Longer than the client waits for one answer.
    with pytest.raises(subprocess.TimeoutExpired):
        stream.process.wait(1)
    server.send(signal.SIGCONT)
    stream.check(server)


def test_connection_is_cut_at_any_byte(servers, folder, run, seed):
    server = servers.start(f"unix:{folder}/server.sock")
    proxy = CuttingProxy(folder / "proxy.sock", folder / "server.sock",
                         random.Random(seed), most_bytes=1_000_000)
    try:
        stream = run([f"unix:{folder}/proxy.sock"], streams=2, window=256,
                     algorithm="lpfhp", count=4 * LENGTHS)
        stream.check(server)
        print(f"{proxy.cuts} cuts")
        assert proxy.cuts > 5
    finally:
        proxy.close()


def test_socket_is_removed_and_the_server_started_anew(servers, folder, run):
    path = folder / "server.sock"
    server = servers.start(f"unix:{path}", http="127.0.0.1:0")
    stream = run(server.targets, window=256)
    wait_for_sequences(server, 1, stream)
    path.unlink()
    server.stop(signal.SIGKILL)
    stream.check(servers.start(f"unix:{path}"))


def test_drain_to_a_second_server(servers, folder, run):
    first = servers.start(f"unix:{folder}/a.sock", http="127.0.0.1:0",
                          options=["--grace", "1"])
    second = servers.start(f"unix:{folder}/b.sock")
    stream = run(first.targets + second.targets, streams=8, window=256,
                 count=8 * LENGTHS)
    wait_for_sequences(first, 1, stream)
    assert first.stop(signal.SIGTERM) == 0
    stream.check(second)


def test_server_starts_after_the_client(servers, folder, run):
    stream = run([f"unix:{folder}/server.sock"], window=256, count=1000)
    with pytest.raises(subprocess.TimeoutExpired):
        stream.process.wait(5)
    stream.check(servers.start(f"unix:{folder}/server.sock"))


# --- The program itself dies ------------------------------------------------


def resume(folder, lengths, name, target):
    return subprocess.Popen([
        BIN / "resume", lengths, folder / f"{name}.packs",
        folder / f"{name}.state", target
    ])


@pytest.mark.parametrize("in_process", [True, False],
                         ids=["in process", "sidecar"])
def test_client_is_killed_again_and_again(servers, folder, write_lengths, seed,
                                          in_process):
    choose = random.Random(seed)
    target = "" if in_process else servers.start().targets[0]
    lengths = write_lengths(1 + i * 7919 % CAPACITY for i in range(30_000))
    assert resume(folder, lengths, "whole", target).wait(WAIT_S) == 0
    packs = folder / "broken.packs"
    kills = 0
    # As many bytes are written before it is killed, wherever that is.
    size = 0
    while True:
        size += choose.randrange(1, 20_000)
        client = resume(folder, lengths, "broken", target)
        try:
            while client.poll() is None:
                if packs.exists() and packs.stat().st_size >= size:
                    client.kill()
                    kills += 1
                    break
            code = client.wait(WAIT_S)
        finally:
            client.kill()
        if code == 0:
            break
        assert code == -signal.SIGKILL
    assert kills > 3
    assert packs.read_bytes() == (folder / "whole.packs").read_bytes()
    # Started once more, it has nothing to add.
    assert resume(folder, lengths, "broken", target).wait(WAIT_S) == 0
    assert packs.read_bytes() == (folder / "whole.packs").read_bytes()
