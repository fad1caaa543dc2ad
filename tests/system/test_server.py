"""`packhoused`: where it serves, who may take its place, how it stops."""

import contextlib
import os
import signal
import socket
import subprocess

import pytest

from conftest import (BIN, WAIT_S, assert_one_line, assert_refused, packhouse,
                      read_lines, report_of, run_packhoused, succeed)

SIGNALS = [signal.SIGTERM, signal.SIGINT]


def assert_not_started(result, *words):
    assert result.returncode == 2, result
    assert result.stdout == ""
    assert_one_line(result.stderr, *words)


def test_serves_on_all_addresses(servers, folder, write_lengths):
    server = servers.start(f"unix:{folder}/a", "127.0.0.1:0", f"unix:{folder}/b",
                           "127.0.0.1:0", http="127.0.0.1:0")
    assert server.targets[0] == f"unix:{folder}/a"
    assert server.targets[2] == f"unix:{folder}/b"
    ports = [target.rsplit(":", 1)[1]
             for target in [server.targets[1], server.targets[3], server.http]]
    assert "0" not in ports and len(set(ports)) == 3
    lengths = write_lengths([5, 3])
    for target in server.targets:
        succeed("health", "--target", target)
        assert report_of("stream", lengths, "--target", target, "--capacity",
                         8)["packs"] == 1


def test_relative_socket_path(servers, folder, monkeypatch):
    monkeypatch.chdir(folder)
    server = servers.start("unix:here.sock")
    assert (folder / "here.sock").is_socket()
    succeed("health", "--target", "unix:here.sock")
    assert server.stop() == 0


def test_outside_loopback_only_if_said(servers):
    server = servers.start("0.0.0.0:0", options=["--insecure"])
    port = server.targets[0].rsplit(":", 1)[1]
    succeed("health", "--target", f"127.0.0.1:{port}")


@pytest.mark.parametrize("signal_number", SIGNALS, ids=lambda s: s.name)
def test_stops_on_signal(servers, folder, signal_number):
    server = servers.start(f"unix:{folder}/server.sock", "127.0.0.1:0",
                           http="127.0.0.1:0")
    succeed("health", "--target", server.targets[0])
    assert server.stop(signal_number) == 0
    assert not (folder / "server.sock").exists()
    # The same addresses can be had at once.
    again = servers.start(*server.targets, http=server.http)
    assert again.targets == server.targets
    for target in again.targets:
        succeed("health", "--target", target)


def test_start_is_told_in_one_line(servers, folder):
    server = servers.start(f"unix:{folder}/server.sock", "127.0.0.1:0")
    assert server.stop() == 0
    first = server.log().splitlines()[0]
    for target in server.targets:
        assert target in first


def test_tcp_address_in_use(servers):
    first = servers.start("127.0.0.1:0")
    assert_not_started(run_packhoused("--listen", first.targets[0]),
                       first.targets[0], "in use")
    succeed("health", "--target", first.targets[0])


def test_tcp_address_of_somebody_else():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert_not_started(run_packhoused("--listen", address), address,
                           "in use")


def test_http_address_in_use(folder):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        path = folder / "server.sock"
        assert_not_started(
            run_packhoused("--listen", f"unix:{path}", "--http", address),
            address)
        assert not path.exists()


def test_one_address_of_two_in_use(servers, folder):
    first = servers.start("127.0.0.1:0")
    path = folder / "second.sock"
    assert_not_started(
        run_packhoused("--listen", f"unix:{path}", "--listen",
                       first.targets[0]), first.targets[0])
    assert not path.exists()


def test_second_server_on_live_socket(servers, folder, write_lengths):
    first = servers.start(f"unix:{folder}/server.sock")
    for _ in range(2):
        assert_not_started(run_packhoused("--listen", first.targets[0]),
                           first.targets[0])
        succeed("health", "--target", first.targets[0])
    assert report_of("stream", write_lengths([5, 3]), "--target",
                     first.targets[0], "--capacity", 8)["packs"] == 1
    assert first.stop() == 0


def test_same_socket_twice(folder):
    address = f"unix:{folder}/server.sock"
    assert_not_started(
        run_packhoused("--listen", address, "--listen", address), address)


def test_stale_socket_is_used_again(servers, folder):
    first = servers.start(f"unix:{folder}/server.sock")
    assert first.stop(signal.SIGKILL) == -signal.SIGKILL
    assert (folder / "server.sock").is_socket()
    again = servers.start(*first.targets)
    succeed("health", "--target", again.targets[0])


def test_socket_of_another_program_is_left_alone(folder):
    path = folder / "server.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()
        assert_not_started(run_packhoused("--listen", f"unix:{path}"), path)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(str(path))


def test_regular_file_is_never_deleted(folder):
    path = folder / "server.sock"
    path.write_text("precious")
    assert_not_started(run_packhoused("--listen", f"unix:{path}"), path)
    assert path.read_text() == "precious"


def test_missing_folders(folder):
    path = folder / "missing" / "deeper" / "server.sock"
    assert_not_started(run_packhoused("--listen", f"unix:{path}"), path,
                       "No such file or directory")
    assert not (folder / "missing").exists()


def test_health(servers, folder):
    server = servers.start(f"unix:{folder}/server.sock")
    result = packhouse("health", "--target", server.targets[0])
    assert (result.returncode, result.stderr) == (0, "")
    assert server.stop() == 0
    assert_refused(packhouse("health", "--target", server.targets[0]),
                   server.targets[0], code=1)


def test_health_of_somebody_else():
    # Something answers there, but it is no packhoused.
    with socket.create_server(("127.0.0.1", 0)) as other:
        target = f"127.0.0.1:{other.getsockname()[1]}"
        assert_refused(packhouse("health", "--target", target, "--answer-within", 2),
                       target, code=1)


@pytest.mark.parametrize("grace", ["nan", "-nan", "inf", "-1", "86401", "soon"])
def test_grace_has_a_range(folder, grace):
    assert_not_started(
        run_packhoused("--listen", f"unix:{folder}/s", f"--grace={grace}"),
        "--grace", grace)


def test_http_error_speaks_of_http(folder):
    result = run_packhoused("--listen", f"unix:{folder}/s", "--http", "foo")
    assert_not_started(result, "foo", "HOST:PORT")
    assert "unix:" not in result.stderr


def test_a_log_that_nobody_reads_stops_nothing(folder, write_lengths):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"." * 4096)
    os.set_blocking(writer, True)
    target = f"unix:{folder}/server.sock"
    with os.fdopen(reader, "rb") as log, subprocess.Popen(
        [BIN / "packhoused", "--listen", target], stdout=subprocess.PIPE,
            stderr=writer, stdin=subprocess.DEVNULL) as process:
        try:
            os.close(writer)
            assert read_lines(process.stdout, 1) == [f"listening {target}"]
            lengths = write_lengths([5, 3])
            stream = ["stream", lengths, "--target", target, "--capacity", 8]
            for _ in range(3):  # each has a line of its own in the log
                assert packhouse(*stream, "--window", 2**31 - 1).returncode != 0
            assert report_of(*stream)["packs"] == 1
            process.send_signal(signal.SIGTERM)
            assert process.wait(WAIT_S) == 0
            assert log.read().strip(b".") == b""
        finally:
            process.kill()


@pytest.mark.parametrize("form", ["json", "text"])
def test_logs(servers, folder, form):
    import json
    server = servers.start(f"unix:{folder}/server.sock",
                           options=["--log-format", form])
    assert server.stop() == 0
    lines = server.log().splitlines()
    assert len(lines) >= 2  # the start and the end
    if form == "json":
        assert all(isinstance(json.loads(line), dict) for line in lines)
