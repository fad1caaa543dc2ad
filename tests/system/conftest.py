"""The real programs, as fixtures. Every wait has a limit; none is a sleep."""

import gzip
import http.client
import json
import os
import pathlib
import selectors
import signal
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("PACKHOUSE_BIN",
                                  ROOT / "build" / "release" / "bin")).resolve()
DATA = ROOT / "data" / "lengths"
WAIT_S = 60  # for whatever should take far less, even under a sanitizer


# Without settings of whoever runs the tests: packhoused reads PACKHOUSE_*.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith("PACKHOUSE_")}


def pytest_collection_modifyitems(items):
    if "PACKHOUSE_LONG_TESTS" in os.environ:
        return
    for item in items:
        if item.get_closest_marker("long"):
            item.add_marker(pytest.mark.skip(
                reason="takes minutes; PACKHOUSE_LONG_TESTS is not set"))


def packhouse(*arguments, stdin=None, wait_s=WAIT_S, **options):
    """Runs the command-line program to its end."""
    return subprocess.run(
        [BIN / "packhouse", *map(str, arguments)],
        input=stdin, capture_output=True, text=True, timeout=wait_s,
        **options)


def succeed(*arguments, **options):
    """Runs a command that must succeed quietly; returns its output."""
    result = packhouse(*arguments, **options)
    assert (result.returncode, result.stderr) == (0, ""), result
    return result.stdout


def report_of(*arguments, **options):
    """The JSON object that a command prints, and nothing else there."""
    return json.loads(succeed(*arguments, "--json", **options))


def assert_one_line(text, *words):
    assert text.count("\n") == 1 and text.endswith("\n"), text[:4096]
    assert len(text.encode()) < 2048, text[:4096]
    for word in map(str, words):
        assert word in text


def assert_refused(result, *words, code=2):
    """One short line on standard error that has all the words."""
    assert result.returncode == code, result
    assert result.stdout == ""
    assert_one_line(result.stderr, *words)


def read_lines(pipe, count, wait_s=WAIT_S):
    """The next `count` lines of a pipe; fewer where it ends before."""
    deadline = time.monotonic() + wait_s
    text = b""
    with selectors.DefaultSelector() as selector:
        selector.register(pipe, selectors.EVENT_READ)
        while text.count(b"\n") < count:
            if not selector.select(max(0, deadline - time.monotonic())):
                raise TimeoutError(f"{count} lines expected, got {text}")
            # One byte at a time: what follows stays in the pipe.
            byte = os.read(pipe.fileno(), 1)
            if not byte:
                break
            text += byte
    return text.decode().splitlines()


class Server:
    """A packhoused that serves: `targets` are its addresses in the order of
    `listen`, `http` is the HOST:PORT of its pages."""

    def __init__(self, listen, http, options, log_path, environment=()):
        self.log_path = log_path
        arguments = [BIN / "packhoused"]
        for address in listen:
            arguments += ["--listen", address]
        if http:
            arguments += ["--http", http]
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*arguments, *options], stdout=subprocess.PIPE, stderr=log,
                stdin=subprocess.DEVNULL,
                env={**ENVIRONMENT, **dict(environment)})
        try:
            lines = read_lines(self.process.stdout, len(listen) + bool(http))
            assert len(lines) == len(listen) + bool(http), self.log()
            assert all(line.startswith("listening ") for line in lines), lines
        except BaseException:
            self.kill()
            raise
        addresses = [line.removeprefix("listening ") for line in lines]
        self.targets = addresses[:len(listen)]
        self.http = addresses[-1].removeprefix("http://") if http else None

    def log(self):
        return self.log_path.read_text()

    def send(self, signal_number):
        self.process.send_signal(signal_number)

    def stop(self, signal_number=signal.SIGTERM):
        """Ends it and returns its exit code."""
        self.send(signal_number)
        return self.process.wait(WAIT_S)

    def kill(self):
        """Ends it whatever its state."""
        self.process.kill()
        self.process.wait(WAIT_S)
        self.process.stdout.close()


def get(server, path, method="GET"):
    """The answer of one of the server's pages; its text is in `text`."""
    connection = http.client.HTTPConnection(server.http, timeout=WAIT_S)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        return answer
    finally:
        connection.close()


def run_packhoused(*arguments, environment=(), **options):
    """Runs a server that is expected to end by itself."""
    return subprocess.run([BIN / "packhoused", *map(str, arguments)],
                          capture_output=True, text=True, timeout=WAIT_S,
                          env={**ENVIRONMENT, **dict(environment)}, **options)


class Servers:
    """Starts servers; those that still run at the end must stop cleanly."""

    def __init__(self, folder):
        self._folder = folder
        self._started = []

    def start(self, *listen, http=None, options=(), environment=()):
        log_path = self._folder / f"packhoused-{len(self._started)}.log"
        server = Server(listen or [f"unix:{self._folder}/server.sock"], http,
                        options, log_path, environment)
        self._started.append(server)
        return server

    def stop_all(self):
        running = [each for each in self._started
                   if each.process.poll() is None]
        try:
            codes = [server.stop() for server in running]
        finally:
            for server in self._started:
                server.kill()
        assert not any(codes), codes


@pytest.fixture
def folder():
    """A folder of a short name: a Unix socket's path has at most 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="packhouse-", dir="/tmp") as name:
        yield pathlib.Path(name)


@pytest.fixture
def servers(folder):
    started = Servers(folder)
    yield started
    started.stop_all()


@pytest.fixture(scope="session")
def shared_server():
    """One server for the tests that only use it: Unix socket, then TCP."""
    with tempfile.TemporaryDirectory(prefix="packhouse-", dir="/tmp") as name:
        started = Servers(pathlib.Path(name))
        yield started.start(f"unix:{name}/server.sock", "127.0.0.1:0")
        started.stop_all()


@pytest.fixture
def write_lengths(folder):
    """Writes a list of lengths as a file and returns its path."""

    def write(lengths, name="lengths.txt"):
        path = folder / name
        path.write_text("".join(f"{length}\n" for length in lengths))
        return path

    return write


def read_lengths(name):
    """The lengths of a list in data/lengths."""
    with gzip.open(DATA / name, "rt") as file:
        return [int(line) for line in file]


def spec_arguments(capacity, algorithm=None, window=None, max_sequences=None,
                   alignment=None, overlong=None, empty=None, seed=None):
    """The options of a spec; None leaves one out."""
    options = {
        "--capacity": capacity,
        "--algorithm": algorithm,
        "--window": window,
        "--max-sequences": max_sequences,
        "--alignment": alignment,
        "--overlong": overlong,
        "--empty": empty,
        "--seed": seed,
    }
    return [
        str(word) for name, value in options.items() if value is not None
        for word in (name, value)
    ]
