"""A stream on which nothing happens for long."""

import subprocess
import time

import pytest

from conftest import BIN, ENVIRONMENT, WAIT_S

IDLE_S = 120  # four pings of the client


@pytest.mark.long
def test_idle_stream_over_tcp_lives(servers):
    server = servers.start("127.0.0.1:0")
    with subprocess.Popen([BIN / "pack_stdin", server.targets[0]],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=ENVIRONMENT, text=True) as stream:
        try:
            stream.stdin.write("300 200\n")
            stream.stdin.flush()
            # The time is what is tested: no state says that it has passed.
            time.sleep(IDLE_S)
            assert stream.poll() is None
            output, _ = stream.communicate("512\n", timeout=WAIT_S)
            assert (stream.returncode, output) == (0, "0 1 \n2 \n")
        finally:
            stream.kill()
    assert server.stop() == 0
    assert " warning " not in server.log()
