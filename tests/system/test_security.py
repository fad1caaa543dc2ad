"""Who may reach `packhoused`: Unix sockets, TLS, proxies, the HTTP port."""

import os
import signal
import stat
import subprocess
import time

import pytest

from conftest import (BIN, ENVIRONMENT, WAIT_S, assert_one_line, assert_refused,
                      get, packhouse, report_of, run_packhoused, succeed)
from pki import Pki

NOBODY = 65534
FOREIGN_GROUP = 12345  # that nobody may give files to but root

needs_root = pytest.mark.skipif(os.geteuid() != 0,
                                reason="only root may be somebody else")


@pytest.fixture(scope="module")
def pki(tmp_path_factory):
    made = Pki(tmp_path_factory.mktemp("pki"))
    made.issue("server", "server", "DNS:localhost,IP:127.0.0.1")
    made.issue("alice", "alice")
    made.issue("bob", "bob", "DNS:bob.example,URI:spiffe://example/bob")
    return made


@pytest.fixture(scope="module")
def other_pki(tmp_path_factory):
    made = Pki(tmp_path_factory.mktemp("other"))
    made.issue("server", "server", "DNS:localhost,IP:127.0.0.1")
    made.issue("alice", "alice")
    return made


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


def assert_not_started(result, *words):
    assert (result.returncode, result.stdout) == (2, ""), result
    assert_one_line(result.stderr, *words)


# Unix sockets.


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
@pytest.mark.parametrize("options, mode", [
    ([], 0o660), (["--socket-mode", "0600"], 0o600),
    (["--socket-mode=666"], 0o666)])
def test_socket_mode_whatever_the_umask(servers, folder, umask, options, mode):
    old = os.umask(umask)
    try:
        servers.start(f"unix:{folder}/run/s", options=options)
    finally:
        os.umask(old)
    assert mode_of(folder / "run" / "s") == mode
    assert mode_of(folder / "run") == 0o770


@needs_root
def test_socket_is_for_its_group(servers, folder):
    os.chmod(folder, 0o755)
    server = servers.start(f"unix:{folder}/run/s",
                           options=["--socket-group", str(FOREIGN_GROUP)])
    assert (folder / "run").stat().st_gid == FOREIGN_GROUP
    assert (folder / "run" / "s").stat().st_gid == FOREIGN_GROUP
    health = ["health", "--target", server.targets[0]]
    member = packhouse(*health, user=NOBODY, group=FOREIGN_GROUP,
                       extra_groups=[])
    assert (member.returncode, member.stdout) == (0, "serving\n"), member
    assert_refused(packhouse(*health, user=NOBODY, group=NOBODY,
                             extra_groups=[]), "Permission denied", code=1)


@needs_root
def test_group_that_the_server_is_not_in(folder):
    os.chmod(folder, 0o777)
    path = folder / "run" / "s"
    result = run_packhoused("--listen", f"unix:{path}", "--socket-group",
                            FOREIGN_GROUP, user=NOBODY, group=NOBODY,
                            extra_groups=[])
    assert_not_started(result, path, FOREIGN_GROUP, "Operation not permitted")
    assert not path.parent.exists()


def test_group_that_does_not_exist(folder):
    assert_not_started(
        run_packhoused("--listen", f"unix:{folder}/s", "--socket-group",
                       "no-such-group"), "no-such-group")
    assert not list(folder.iterdir())


def test_folder_of_the_socket_stays(servers, folder):
    os.mkdir(folder / "run", 0o711)
    server = servers.start(f"unix:{folder}/run/s")
    assert mode_of(folder / "run") == 0o711
    assert server.stop() == 0
    assert not list((folder / "run").iterdir())


# TLS.


def test_tls(servers, pki, write_lengths):
    server = servers.start("127.0.0.1:0", options=pki.identity("server"))
    target = ["--target", server.targets[0]]
    trusting = [*target, "--tls-ca", pki.file("ca.pem")]
    succeed("health", *trusting)
    assert report_of("stream", write_lengths([5, 3]), *trusting, "--capacity",
                     8)["packs"] == 1
    assert_refused(packhouse("health", *target), "Socket closed", code=1)
    assert_refused(packhouse("health", *target, "--tls"),
                   "certificate verify failed", code=1)
    assert_refused(packhouse("health", *trusting, "--tls-server-name", "else"),
                   "Hostname Verification", code=1)


def test_mutual_tls_and_names(servers, pki, other_pki, write_lengths):
    server = servers.start(
        "127.0.0.1:0",
        options=[*pki.identity("server"), "--tls-client-ca", pki.file("ca.pem"),
                 "--tls-allow-client", "alice"])
    target = ["--target", server.targets[0], "--tls-ca", pki.file("ca.pem")]
    stream = ["stream", write_lengths([5, 3]), *target, "--capacity", 8]
    assert report_of(*stream, *pki.identity("alice"))["packs"] == 1
    # Alice of somebody else is no Alice.
    for identity in [[], other_pki.identity("alice")]:
        assert packhouse("health", *target, *identity).returncode == 1
    for command in [stream, ["health", *target]]:
        assert_refused(packhouse(*command, *pki.identity("bob")), "bob.example",
                       "spiffe://example/bob", code=1)
    assert server.stop() == 0
    assert "client refused" in server.log()


@pytest.mark.parametrize("arguments, words", [
    (["--tls-cert", "server.pem"], ["--tls-key"]),
    (["--tls-key", "server.key"], ["--tls-cert"]),
    (["--tls-client-ca", "ca.pem"], ["--tls-cert"]),
    (["--tls-cert", "none", "--tls-key", "server.key"], ["none", "No such"]),
    (["--tls-cert", "server.pem", "--tls-key", "none"], ["none", "No such"]),
    (["--tls-cert", "server.key", "--tls-key", "server.key"],
     ["server.key", "no certificate in PEM form"]),
    (["--tls-cert", "server.pem", "--tls-key", "ca.pem"],
     ["ca.pem", "no private key in PEM form"]),
    (["--tls-cert", "server.pem", "--tls-key", "alice.key"],
     ["alice.key", "does not belong", "server.pem"]),
    (["--tls-cert", "server.pem", "--tls-key", "server.key", "--tls-client-ca",
      "ca.key"], ["ca.key"]),
    (["--tls-cert", ".", "--tls-key", "server.key"], ["not a regular file"]),
    (["--tls-cert", "server.pem", "--tls-key", "server.key", "--insecure"],
     ["--insecure"]),
    (["--tls-cert", "server.pem", "--tls-key", "server.key",
      "--tls-allow-client", "alice"], ["--tls-client-ca"]),
])
def test_bad_tls_is_refused_at_start(pki, arguments, words):
    assert_not_started(
        run_packhoused("--listen", "127.0.0.1:0", *arguments, cwd=pki.folder),
        *words)


@needs_root
def test_key_that_the_server_may_not_read(folder, pki):
    os.chmod(folder, 0o755)
    key = folder / "server.key"
    key.write_bytes(pki.file("server.key").read_bytes())
    key.chmod(0o600)
    cert = folder / "server.pem"
    cert.write_bytes(pki.file("server.pem").read_bytes())
    assert_not_started(
        run_packhoused("--listen", "127.0.0.1:0", "--tls-cert", cert,
                       "--tls-key", key, user=NOBODY, group=NOBODY,
                       extra_groups=[]), key, "Permission denied")


@pytest.mark.parametrize("arguments, words", [
    (["--tls-ca", "none"], ["none", "No such"]),
    (["--tls-ca", ""], ["--tls-ca"]),
    (["--tls-cert", "alice.pem"], ["key"]),
    (["--tls-cert", "alice.pem", "--tls-key", "bob.key"], ["bob.key"]),
])
def test_client_refuses_bad_files(pki, arguments, words):
    # Before it connects: nobody is there.
    assert_refused(packhouse("health", "--target", "127.0.0.1:1", *arguments,
                             cwd=pki.folder), *words)


def test_client_refuses_tls_on_a_socket(folder):
    assert_refused(packhouse("health", "--target", f"unix:{folder}/s", "--tls"),
                   "HOST:PORT", f"unix:{folder}/s")


def wait_for(condition):
    deadline = time.monotonic() + WAIT_S
    while not condition():
        assert time.monotonic() < deadline


def test_certificates_replaced_during_traffic(servers, folder, pki, other_pki,
                                              write_lengths):
    for name, source in [("old", pki), ("new", other_pki)]:
        (folder / name).mkdir()
        for each in ["server.pem", "server.key"]:
            (folder / name / each).write_bytes(source.file(each).read_bytes())
    live = folder / "live"
    live.symlink_to("old")
    server = servers.start(
        "127.0.0.1:0", http="127.0.0.1:0",
        options=["--tls-cert", live / "server.pem", "--tls-key",
                 live / "server.key", "--tls-refresh", "1"])
    target = ["--target", server.targets[0]]
    old_trust = ["--tls-ca", pki.file("ca.pem")]
    new_trust = ["--tls-ca", other_pki.file("ca.pem")]

    def serves(trust):
        return packhouse("health", *target, *trust).returncode == 0

    assert serves(old_trust) and not serves(new_trust)
    lengths = write_lengths([3, 5] * 200_000)
    packs = folder / "packs.jsonl"
    # Small messages: the stream must be on its way for some time.
    with subprocess.Popen(
        [BIN / "packhouse", "stream", lengths, *target, *old_trust,
         "--capacity", "8", "--batch", "4", "--packs", packs],
            env=ENVIRONMENT, stdout=subprocess.DEVNULL) as stream:
        try:
            wait_for(lambda: "\npackhouse_sequences_total 0\n" not in
                     get(server, "/metrics").text)
            stream.send_signal(signal.SIGSTOP)
            assert stream.poll() is None
            (folder / "next").symlink_to("new")
            os.rename(folder / "next", live)
            wait_for(lambda: serves(new_trust))
            assert not serves(old_trust)
            stream.send_signal(signal.SIGCONT)
            assert stream.wait(WAIT_S) == 0
        finally:
            stream.kill()
    succeed("verify", lengths, packs, "--capacity", 8)


def test_certificate_that_is_empty_for_a_time(servers, folder, pki):
    for each in ["server.pem", "server.key"]:
        (folder / each).write_bytes(pki.file(each).read_bytes())
    server = servers.start(
        "127.0.0.1:0",
        options=["--tls-cert", folder / "server.pem", "--tls-key",
                 folder / "server.key", "--tls-refresh", "1"])
    health = ["health", "--target", server.targets[0], "--tls-ca",
              pki.file("ca.pem")]
    warning = "TLS files are not sound"
    for name in ["server.pem", "server.key"]:
        warnings = server.log().count(warning)
        (folder / name).write_bytes(b"")
        wait_for(lambda: server.log().count(warning) > warnings)
        succeed(*health)
        (folder / name).write_bytes(pki.file(name).read_bytes())
        wait_for(lambda: server.log().count("sound again") > warnings)
        succeed(*health)
    assert server.stop() == 0
    assert server.log().count(warning) == 2


# Proxies, and the HTTP port.


@pytest.mark.parametrize("variable", ["http_proxy", "https_proxy", "grpc_proxy"])
def test_proxies_do_not_catch_local_targets(servers, folder, pki, monkeypatch,
                                            variable):
    # Nobody listens there.
    monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    plaintext = servers.start(f"unix:{folder}/s", "127.0.0.1:0")
    port = plaintext.targets[1].rsplit(":", 1)[1]
    for target in [*plaintext.targets, f"localhost:{port}"]:
        succeed("health", "--target", target)
    tls = servers.start("127.0.0.1:0", options=pki.identity("server"))
    succeed("health", "--target", tls.targets[0], "--tls-ca",
            pki.file("ca.pem"))


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH",
                                    "OPTIONS"])
@pytest.mark.parametrize("path", ["/metrics", "/healthz"])
def test_http_is_for_reading(servers, method, path):
    server = servers.start("127.0.0.1:0", http="127.0.0.1:0")
    answer = get(server, path, method)
    assert (answer.status, answer.getheader("Allow")) == (405, "GET, HEAD")
    assert get(server, path, "HEAD").text == ""
