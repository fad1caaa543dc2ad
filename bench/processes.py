"""The programs that bench/service and bench/soak start and watch."""

import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

from pages import BIN

WAIT_S = 60  # for whatever should take far less


class Process:
    """A server on a Unix socket of its own, and what Linux knows of it."""

    def __init__(self, program, arguments):
        self._folder = tempfile.TemporaryDirectory(prefix="packhouse-", dir="/tmp")
        self.target = f"unix:{self._folder.name}/socket"
        self._log = pathlib.Path(self._folder.name, "log")
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [BIN / program, *arguments(self.target)], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=log)
        if not self._process.stdout.readline().startswith(b"listening"):
            raise RuntimeError(f"{program} did not start: {self._log.read_text()}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self._process.stdin.close()  # ends an echo server
        self._process.terminate()
        self._process.wait(WAIT_S)
        self._process.stdout.close()
        self._folder.cleanup()

    def _proc(self, name):
        return pathlib.Path(f"/proc/{self._process.pid}/{name}").read_text()

    def _status(self, key):
        line = next(l for l in self._proc("status").splitlines() if l.startswith(key + ":"))
        return int(line.split()[1])

    def cpu_s(self):
        """Processor time so far, in seconds."""
        fields = self._proc("stat").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_kib(self):
        return self._status("VmRSS")

    def rss_peak_kib(self):
        return self._status("VmHWM")

    def threads(self):
        return self._status("Threads")

    def open_files(self):
        return len(os.listdir(f"/proc/{self._process.pid}/fd"))

    def await_files(self, reached):
        """Waits until `reached` holds for the number of open files."""
        deadline = time.monotonic() + WAIT_S
        while not reached(self.open_files()):
            if time.monotonic() > deadline:
                raise RuntimeError(f"{self.open_files()} files are open")
            time.sleep(0.01)


def raise_file_limit():
    """For 1000 streams: each has a file at both ends. Children inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def packhoused():
    return Process("packhoused", lambda target: ["--listen", target])


def echo_server(per_pack):
    return Process("echo_server", lambda target: [target, str(per_pack)])


def start_load(target, *options):
    return subprocess.Popen(
        [BIN / "packhouse", "bench", "service", "--target", target, "--json",
         *map(str, options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish_load(process, seconds=0):
    """The report of a load, in which no stream may have failed."""
    out, err = process.communicate(timeout=seconds + WAIT_S)
    if process.returncode != 0:
        raise RuntimeError(f"the load failed: {err or out}")
    return json.loads(out)


def load(target, seconds, *options):
    return finish_load(start_load(target, "--seconds", seconds, *options), seconds)
