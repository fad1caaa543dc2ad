"""The options of `packhoused` from the command line, variables and a file."""

import json
import re
import signal
import subprocess

import pytest

from conftest import (BIN, ENVIRONMENT, ROOT, WAIT_S, assert_one_line,
                      assert_refused, packhouse, read_lines, run_packhoused,
                      succeed)
from pki import Pki


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A value for each option; together a server starts with them."""
    pki = Pki(tmp_path_factory.mktemp("pki"))
    pki.issue("server", "server", "DNS:localhost,IP:127.0.0.1")
    return {
        "listen": "127.0.0.1:0",
        "http": "127.0.0.1:0",
        "socket-mode": "0600",
        "socket-group": "0",
        "insecure": "false",
        "tls-cert": str(pki.file("server.pem")),
        "tls-key": str(pki.file("server.key")),
        "tls-client-ca": str(pki.file("ca.pem")),
        "tls-allow-client": "server",
        "tls-refresh": "30",
        "max-window": "512",
        "max-plan": "1000",
        "max-streams": "100",
        "max-memory": "512M",
        "grace": "1.5",
        "idle-timeout": "60",
        "packing-threads": "2",
        "log-format": "json",
    }


def options_in_help():
    text = run_packhoused("--help").stdout
    names = set(re.findall(r"^  (?:-h,)?--([a-z-]+)", text, re.MULTILINE))
    return names - {"help", "version", "config"}


def serve_and_stop(folder, addresses, arguments=(), environment=()):
    """Runs a server until it serves on so many addresses, which it may know
    from anywhere; returns what it printed, and its log."""
    log_path = folder / "log"
    with open(log_path, "wb") as log, subprocess.Popen(
        [BIN / "packhoused", *map(str, arguments)], stdout=subprocess.PIPE,
            stderr=log, env={**ENVIRONMENT, **dict(environment)}) as process:
        try:
            lines = read_lines(process.stdout, addresses)
            assert len(lines) == addresses, log_path.read_text()
            process.send_signal(signal.SIGTERM)
            assert process.wait(WAIT_S) == 0
        finally:
            process.kill()
    return lines, log_path.read_text()


def settings_in_log(log):
    """{option: (value, origin)}, of a log in JSON."""
    found = {}
    for line in map(json.loads, log.splitlines()):
        if line["message"] == "settings":
            for name in line.keys() - {"time", "level", "message", "origin"}:
                assert name not in found
                found[name] = (line[name], line["origin"])
    return found


def variable(name):
    return "PACKHOUSE_" + name.upper().replace("-", "_")


def test_samples_are_those_of_all_options(samples):
    assert options_in_help() == samples.keys()


def test_every_option_is_documented():
    text = (ROOT / "docs" / "operations.md").read_text()
    for name in options_in_help() | {"config"}:
        assert re.search(rf"^\| `--{name}[ `].* \| `{variable(name)}` \|", text,
                         re.MULTILINE), name


@pytest.mark.parametrize("origin", ["command line", "environment", "file"])
def test_every_option_from_every_source(folder, samples, origin):
    file = folder / "packhoused.toml"
    file.write_text("".join(f'{name} = "{value}"\n'
                            for name, value in samples.items()))
    sources = {
        "command line": {"arguments": [f"--{name}={value}" for name, value
                                       in samples.items()]},
        "environment": {"environment": {variable(name): value for name, value
                                        in samples.items()}},
        "file": {"arguments": ["--config", file]},
    }
    lines, log = serve_and_stop(folder, 2, **sources[origin])
    assert lines[0].startswith("listening 127.0.0.1:")
    assert lines[1].startswith("listening http://127.0.0.1:")
    found = settings_in_log(log)
    del found["config"]
    assert found == {name: (value, origin) for name, value in samples.items()}


def test_precedence(folder):
    file = folder / "packhoused.toml"
    file.write_text("grace = 1\nmax-plan = 1\nmax-window = 1\n")
    _, log = serve_and_stop(
        folder, 1,
        ["--listen", "127.0.0.1:0", "--grace", "3", "--log-format", "json"],
        {"PACKHOUSE_GRACE": "2", "PACKHOUSE_MAX_PLAN": "2",
         "PACKHOUSE_CONFIG": str(file)})
    found = settings_in_log(log)
    assert found["grace"] == ("3", "command line")
    assert found["max-plan"] == ("2", "environment")
    assert found["max-window"] == ("1", "file")
    assert found["tls-refresh"] == ("60", "default")
    assert found["config"] == (str(file), "environment")


@pytest.mark.parametrize("separator", [",", "\n", " , "])
def test_list_in_a_variable(folder, separator):
    addresses = [f"unix:{folder}/a", f"unix:{folder}/b"]
    lines, _ = serve_and_stop(
        folder, 2, environment={"PACKHOUSE_LISTEN": separator.join(addresses)})
    assert lines == [f"listening {address}" for address in addresses]


def test_limits_of_the_environment_hold(servers, write_lengths):
    server = servers.start("127.0.0.1:0",
                           environment={"PACKHOUSE_MAX_WINDOW": "8"})
    stream = ["stream", write_lengths([5, 3]), "--target", server.targets[0],
              "--capacity", 8, "--window"]
    succeed(*stream, 8)
    assert_refused(packhouse(*stream, 9), "9", "8")


def test_unknown_variables_are_told(folder):
    _, log = serve_and_stop(folder, 1, ["--listen", "127.0.0.1:0"],
                            {"PACKHOUSE_MAX_WINDWO": "5"})
    warnings = [line for line in log.splitlines() if " warning " in line]
    assert len(warnings) == 1 and "PACKHOUSE_MAX_WINDWO" in warnings[0]


@pytest.mark.parametrize("text, word", [
    ("max-windwo = 5", "max-windwo"), ("[server]\ngrace = 5", "server"),
    ("grace = soon", "soon"), ("insecure = maybe", "insecure")])
def test_bad_file(folder, text, word):
    file = folder / "packhoused.toml"
    file.write_text(text)
    result = run_packhoused("--listen", "127.0.0.1:0", "--config", file)
    assert (result.returncode, result.stdout) == (2, "")
    assert_one_line(result.stderr, file, word)


def test_bad_variable():
    result = run_packhoused("--listen", "127.0.0.1:0",
                            environment={"PACKHOUSE_GRACE": "soon"})
    assert (result.returncode, result.stdout) == (2, "")
    assert_one_line(result.stderr, "PACKHOUSE_GRACE", "soon")


def test_unknown_option():
    result = run_packhoused("--listen", "127.0.0.1:0", "--bogus=1")
    assert (result.returncode, result.stdout) == (2, "")
    assert_one_line(result.stderr, "unknown option --bogus ")


def test_missing_file(folder):
    result = run_packhoused("--listen", "127.0.0.1:0", "--config",
                            folder / "none")
    assert (result.returncode, result.stdout) == (2, "")
    assert_one_line(result.stderr, folder / "none", "No such file")
