"""What the tests of the Python package share: they run the installed one."""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PACKHOUSE_BIN", ROOT / "build/release/bin"))
WAIT_S = 60

# What examples and tests share.
sys.path.append(str(ROOT / "examples/python"))


@pytest.fixture
def random():
    """Numbers that are the same in every run."""
    return np.random.default_rng(7)


def check_packs(packs, lengths):
    """By the definition: each sequence once, no pack over its capacity."""
    seen = [ordinal for pack in packs.as_lists() for ordinal in pack]
    assert sorted(seen) == list(range(len(lengths)))
    for pack in packs.as_lists():
        assert pack == sorted(pack)
        assert sum(lengths[i] for i in pack) <= packs.spec.capacity_tokens


def run_python(code):
    """What a program of its own prints; it must end well."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout.strip()


class Server:
    """A packhoused on one address, which can be killed and started again."""

    def __init__(self, listen, options=()):
        self.listen = listen
        self.options = options
        self.start()

    def start(self):
        environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("PACKHOUSE_")
        }
        self.process = subprocess.Popen(
            [BIN / "packhoused", "--listen", self.listen, *self.options],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        line = self.process.stdout.readline()
        assert line.startswith("listening "), line
        self.target = line.removeprefix("listening ").strip()

    def kill(self):
        self.process.kill()
        self.process.wait(WAIT_S)
        self.process.stdout.close()


@pytest.fixture
def folder():
    """A folder of a short name: a Unix socket's path has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="packhouse-", dir="/tmp") as name:
        yield pathlib.Path(name)


@pytest.fixture
def start_server(folder):
    """Starts servers, which end with the test."""
    if not (BIN / "packhoused").exists():
        pytest.skip(f"no packhoused in {BIN}: PACKHOUSE_BIN says where one is")
    started = []

    def start(listen=None, options=()):
        name = f"unix:{folder}/server-{len(started)}.sock"
        started.append(Server(listen or name, options))
        return started[-1]

    yield start
    for server in started:
        server.kill()
