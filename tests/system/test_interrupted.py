"""One side goes away in the middle of a stream and does not come back: the
other ends, with one line and nothing half done."""

import signal
import subprocess
import time

import pytest

from conftest import (BIN, WAIT_S, assert_one_line, assert_refused, get,
                      packhouse, report_of, succeed)
from proxy import Proxy

LIMIT_S = 2  # of the clients here


@pytest.fixture
def middle(servers, folder, write_lengths):
    """Starts a stream and lets it stand still after some packs: returns the
    server, the client and the proxy between them."""
    started = []

    def start(*options):
        server = servers.start(f"unix:{folder}/server.sock",
                               http="127.0.0.1:0", options=options)
        # Some 600 kB of lengths; the first packs are back after less than 100.
        lengths = write_lengths(1 + i * 7919 % 2048 for i in range(300_000))
        proxy = Proxy(folder / "proxy.sock", folder / "server.sock",
                      hold_after=200_000, answers=10_000)
        (folder / "packs.jsonl").write_text("what was here\n")
        client = subprocess.Popen(
            [
                BIN / "packhouse", "stream", lengths, "--target",
                f"unix:{folder}/proxy.sock", "--capacity", "2048", "--window",
                "64", "--packs", folder / "packs.jsonl", "--answer-within",
                str(LIMIT_S), "--unavailable-for", str(LIMIT_S)
            ],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        started.append((client, proxy))
        assert proxy.held.wait(WAIT_S)
        return server, client, proxy

    yield start
    for client, proxy in started:
        client.kill()
        client.communicate(timeout=WAIT_S)
        proxy.close()


def assert_nothing_written(folder):
    packs = folder / "packs.jsonl"
    assert list(folder.glob("packs*")) == [packs]
    assert packs.read_text() == "what was here\n"


def assert_failed(client, folder):
    output, errors = client.communicate(timeout=WAIT_S)
    assert client.returncode == 1, errors
    assert output == ""
    assert_one_line(errors)
    assert_nothing_written(folder)


def test_server_is_killed(middle, folder):
    server, client, _ = middle()
    assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    assert_failed(client, folder)


def test_server_stands_still(middle, folder):
    server, client, _ = middle()
    server.send(signal.SIGSTOP)
    assert_failed(client, folder)
    server.send(signal.SIGCONT)
    succeed("health", "--target", server.targets[0])


def test_connection_breaks(middle, folder):
    server, client, proxy = middle()
    proxy.close()
    assert_failed(client, folder)
    succeed("health", "--target", server.targets[0])


@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT],
                         ids=lambda s: s.name)
def test_server_stops_with_a_stream_open(middle, folder, signal_number):
    server, client, _ = middle("--grace", "1")
    assert server.stop(signal_number) == 0
    assert_failed(client, folder)


def test_second_signal_cuts_the_grace_short(middle, folder):
    server, client, _ = middle("--grace", "3600")
    server.send(signal.SIGTERM)
    # Open streams may go on, others are sent away.
    deadline = time.monotonic() + WAIT_S
    while get(server, "/healthz").status == 200:
        assert time.monotonic() < deadline
    assert_refused(packhouse("health", "--target", server.targets[0]), code=1)
    assert client.poll() is None
    assert " stopping reason=SIGTERM streams=1 grace_seconds=3600" in server.log()
    assert server.stop() == 1
    assert "stopped at once by a second signal" in server.log().splitlines()[-1]
    assert_failed(client, folder)


@pytest.mark.parametrize("signal_number",
                         [signal.SIGKILL, signal.SIGTERM, signal.SIGINT],
                         ids=lambda s: s.name)
def test_client_dies(middle, folder, write_lengths, signal_number):
    server, client, proxy = middle()
    client.send_signal(signal_number)
    client.communicate(timeout=WAIT_S)
    assert client.returncode not in (0, None)
    assert_nothing_written(folder)
    proxy.close()
    # The server has forgotten it and goes on.
    assert report_of("stream", write_lengths([5, 3], "other.txt"), "--target",
                     server.targets[0], "--capacity", 8)["packs"] == 1
    assert server.stop() == 0
