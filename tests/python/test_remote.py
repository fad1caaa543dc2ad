import multiprocessing
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading

import numpy as np
import packhouse
import pytest

pytest.importorskip("grpc")

from conftest import run_python
from packhouse import remote


def pack_all(source, lengths, pieces=7):
    parts = [source.add(part) for part in np.array_split(lengths, pieces)]
    parts.append(source.finish())
    return [pack for part in parts for pack in part.as_lists()]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"algorithm": "sliding", "window": 64},
        {"algorithm": "lpfhp", "window": 100, "seed": 5},
        {"overlong": "split", "empty": "drop", "max_sequences": 3},
        {"overlong": "truncate_head", "alignment": 8},
        {"algorithm": "sliding", "effort": "fast", "max_displacement": 500},
    ],
)
def test_a_server_gives_the_packs_of_a_packer(start_server, options, random):
    server = start_server()
    most = 300 if "overlong" in options else 101
    lengths = random.integers(1, most, 5000)
    spec = packhouse.Spec(100, **options)
    stream = remote.Stream(server.target, spec)
    there = pack_all(stream, lengths)
    assert there == pack_all(packhouse.Packer(spec), lengths)
    assert stream.sequences == 5000


def test_flush_and_refusals(start_server):
    server = start_server()
    with remote.Stream(server.target, 10, window=4) as stream:
        stream.add([5, 3])
        assert stream.flush().as_lists() == [[0, 1]]
        with pytest.raises(ValueError, match="ordinal 3 has length 11"):
            stream.add([1, 11])
        assert stream.add([9]).as_lists() == []
        assert stream.finish().as_lists() == [[2]]
        with pytest.raises(RuntimeError, match=r"[Ee]nd"):
            stream.add([1])


def test_a_stream_survives_its_server(start_server, random):
    """Killed and started again a dozen times, the packs are the same."""
    server = start_server()
    lengths = random.integers(1, 101, 12_000)
    stream = remote.Stream(server.target, 100, batch=256)
    parts = []
    for i, part in enumerate(np.array_split(lengths, 24)):
        parts.append(stream.add(part))
        if i % 2:
            server.kill()
            server.start()
    parts.append(stream.finish())
    packs = [pack for part in parts for pack in part.as_lists()]
    assert packs == packhouse.plan(lengths, 100).as_lists()


def test_the_next_target_takes_over(start_server, random):
    servers = [start_server(), start_server()]
    lengths = random.integers(1, 101, 4000)
    stream = remote.Stream(
        ",".join(server.target for server in servers), 100, batch=500
    )
    first = stream.add(lengths[:2000]).as_lists()
    servers[0].kill()
    first += stream.add(lengths[2000:]).as_lists()
    first += stream.finish().as_lists()
    assert first == packhouse.plan(lengths, 100).as_lists()


def test_states_move_between_servers(start_server, random):
    lengths = random.integers(1, 101, 3000)
    stream = remote.Stream(start_server().target, 100, batch=256)
    seen = stream.add(lengths[:1700]).as_lists()
    state = pickle.loads(pickle.dumps(stream.state_dict()))
    stream.close()
    other = remote.Stream(start_server().target, 100)
    other.load_state_dict(state)
    seen += other.add(lengths[1700:]).as_lists()
    seen += other.finish().as_lists()
    assert seen == packhouse.plan(lengths, 100).as_lists()
    with pytest.raises(ValueError, match="window is 1024, not 8"):
        remote.Stream("unix:/x", 100, window=8).load_state_dict(state)
    with pytest.raises(ValueError, match="of a packer in process"):
        other.load_state_dict(packhouse.Packer(100).state_dict())


def test_nobody_there(folder):
    stream = remote.Stream(
        f"unix:{folder}/none.sock,127.0.0.1:1", 10, batch=1, unavailable_for=0.3
    )
    with pytest.raises(remote.Unavailable, match="no server answered") as error:
        stream.add([5])
    assert "none.sock" in str(error.value)
    assert "127.0.0.1:1" in str(error.value)
    assert isinstance(error.value, ConnectionError)


def test_a_silent_server():
    """Something takes the connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held = []
        threading.Thread(
            target=lambda: held.append(listener.accept()), daemon=True
        ).start()
        stream = remote.Stream(
            f"127.0.0.1:{listener.getsockname()[1]}",
            10,
            batch=1,
            answer_within=0.2,
            unavailable_for=0,
        )
        with pytest.raises(remote.DeadlineExceeded, match=r"within 0.2 s"):
            stream.add([5])


def test_a_server_that_hangs(start_server):
    server = start_server()
    stream = remote.Stream(
        server.target, 10, batch=1, answer_within=0.3, unavailable_for=0
    )
    stream.add([5])
    server.process.send_signal(signal.SIGSTOP)
    with pytest.raises(remote.DeadlineExceeded, match=r"within 0\.3 s"):
        stream.add([5])
    server.process.send_signal(signal.SIGCONT)
    # What was given is not lost: the next call goes on.
    assert stream.finish().as_lists() == [[0, 1]]


def test_waiting_ends_with_an_interrupt():
    """Ctrl-C ends a wait, and other threads run meanwhile."""
    code = """
import socket, threading, time
from packhouse import remote
listener = socket.create_server(("127.0.0.1", 0))
held = []
def accept():
    held.append(listener.accept())
    print("waiting", flush=True)
threading.Thread(target=accept, daemon=True).start()
stream = remote.Stream(
    f"127.0.0.1:{listener.getsockname()[1]}", 10, batch=1, answer_within=50
)
try:
    stream.add([5])
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(signal.SIGINT)
            # And the process ends, although its stream is not closed.
            assert process.communicate(timeout=30)[0] == "interrupted\n"
            assert process.returncode == 0
        finally:
            process.kill()


def test_local_servers_are_reached_without_a_proxy(start_server, monkeypatch):
    for name in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for listen in (None, "127.0.0.1:0"):
        target = start_server(listen).target
        names = {target, target.replace("127.0.0.1", "localhost")}
        for name in names:
            stream = remote.Stream(name, 10, unavailable_for=0)
            assert pack_all(stream, [5, 3, 8, 2]) == [[0, 1], [2, 3]]


def test_what_a_server_refuses_is_final(start_server):
    server = start_server(options=["--max-window", "16"])
    stream = remote.Stream(server.target, 10, window=64, batch=1)
    with pytest.raises(RuntimeError, match="RESOURCE_EXHAUSTED") as error:
        stream.add([5])
    assert "64" in str(error.value)


def test_other_versions_are_refused_by_both_numbers(start_server, monkeypatch):
    from packhouse import _messages

    right = _messages.request_of

    def wrong(content, spec):
        message = right(content, spec)
        if message.HasField("open"):
            message.open.protocol_version = 9
        return message

    monkeypatch.setattr(_messages, "request_of", wrong)
    stream = remote.Stream(start_server().target, 10, batch=1)
    with pytest.raises(RuntimeError, match="9") as error:
        stream.add([5])
    assert "1" in str(error.value)
    assert "version" in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"target": "server"}, "'server' is neither unix:PATH nor HOST:PORT"),
        ({"target": "host:70000"}, "host:70000"),
        ({"target": ",".join(["unix:/x"] * 17)}, "17 targets"),
        ({"target": "unix:/x", "batch": 0}, "batch is 0"),
        ({"target": "unix:/x", "answer_within": 0}, "answer_within is 0"),
        ({"target": "unix:/x", "unavailable_for": -1}, "unavailable_for is -1"),
        ({"target": "unix:/x", "algorithm": "best"}, "best"),
    ],
)
def test_wrong_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        remote.Stream(capacity_tokens=10, **arguments)


def test_tls(start_server, folder):
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
        f"-nodes -keyout {key} -out {cert} -days 2 -subj /CN=packhouse "
        f"-addext subjectAltName=DNS:packhouse.test",
        shell=True,
        check=True,
        capture_output=True,
        timeout=60,
    )
    server = start_server(
        "127.0.0.1:0", ["--tls-cert", str(cert), "--tls-key", str(key)]
    )
    tls = remote.Tls(ca_file=str(cert), server_name="packhouse.test")
    stream = remote.Stream(server.target, 10, tls=tls)
    assert pack_all(stream, [5, 3, 8, 2]) == [[0, 1], [2, 3]]
    plain = remote.Stream(server.target, 10, batch=1, unavailable_for=0)
    with pytest.raises(remote.Unavailable):
        plain.add([5])
    with pytest.raises(ValueError, match="needs a key_file"):
        remote.Tls(cert_file=str(cert))
    missing = remote.Stream(
        server.target, 10, batch=1, tls=remote.Tls(ca_file="/no/such.pem")
    )
    with pytest.raises(ValueError, match=r"/no/such\.pem: No such file"):
        missing.add([5])


# -------------------------------------------------------------------- forks --


def in_child(work, *arguments):
    """What `work` returns in a forked child, within a limit."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(
        target=lambda: there.send(work(*arguments)), daemon=True
    )
    child.start()
    assert here.poll(30), "the child hangs"
    result = here.recv()
    child.join(30)
    assert child.exitcode == 0
    return result


def test_children_fork_before_grpc_is_used_or_are_refused(start_server):
    """In a process of its own: this one has used gRPC long ago."""
    code = f"""
import multiprocessing
from packhouse import remote

def work(pipe=None):
    stream = remote.Stream({start_server().target!r}, 10)
    try:
        packs = stream.add([5, 3, 8, 2]).as_lists()
        packs += stream.finish().as_lists()
    except RuntimeError as error:
        packs = str(error)
    if pipe is not None:
        pipe.send(packs)
    return packs

def in_child():
    here, there = multiprocessing.get_context("fork").Pipe()
    child = multiprocessing.get_context("fork").Process(
        target=work, args=(there,), daemon=True)
    child.start()
    assert here.poll(30), "the child hangs"
    return here.recv()

assert in_child() == [[0, 1], [2, 3]]
assert work() == [[0, 1], [2, 3]]
said = in_child()
assert "may hang" in said and "spawn" in said, said
print("done")
"""
    assert run_python(code) == "done"


def test_a_used_stream_is_not_for_a_child(start_server):
    stream = remote.Stream(start_server().target, 10, batch=1)
    stream.add([5])

    def work():
        try:
            stream.add([3])
        except RuntimeError as error:
            return str(error)

    assert f"used in process {os.getpid()}" in in_child(work)
    assert stream.finish().as_lists() == [[0]]


def test_nothing_of_grpc_starts_without_need():
    code = (
        "import sys, packhouse; from packhouse import remote\n"
        "s = remote.Stream('unix:/none', 10); s.add([5])\n"
        "d = packhouse.PackedDataset([[1]], 10, target='unix:/none')\n"
        "print('grpc' in sys.modules)"
    )
    assert run_python(code) == "False"


# ----------------------------------------------------------------- datasets --


def items_of(count):
    random = np.random.default_rng(3)
    return [
        {"input_ids": np.full(length, i)}
        for i, length in enumerate(random.integers(1, 60, count))
    ]


def values(packs):
    return [pack.columns["input_ids"].tolist() for pack in packs]


def test_a_dataset_at_a_server(start_server):
    items = items_of(3000)
    server = start_server()
    here = values(packhouse.PackedDataset(items, 100))
    dataset = packhouse.PackedDataset(items, 100, target=server.target)
    assert values(dataset) == here
    reader = iter(dataset)
    seen = values(next(reader) for _ in range(300))
    state = pickle.loads(pickle.dumps(dataset.state_dict()))
    again = packhouse.PackedDataset(
        items, 100, target=server.target, remote={"batch": 100}
    )
    again.load_state_dict(state)
    assert seen + values(again) == here


def test_workers_of_a_loader_at_a_server(start_server):
    torch = pytest.importorskip("torch")
    server = start_server()
    items = items_of(600)
    dataset = packhouse.PackedDataset(
        items, 100, target=server.target, shard=True
    )
    list(packhouse.PackedDataset(items, 100, target=server.target))
    # Not forked: this process has used gRPC.
    loader = torch.utils.data.DataLoader(
        dataset,
        batch_size=None,
        num_workers=2,
        multiprocessing_context="spawn",
    )
    tokens = sorted(token for pack in values(loader) for token in pack)
    assert tokens == sorted(
        token for item in items for token in item["input_ids"].tolist()
    )


def test_a_dataset_without_its_server(folder):
    dataset = packhouse.PackedDataset(
        items_of(10),
        100,
        target=f"unix:{folder}/none.sock",
        remote={"unavailable_for": 0.2},
    )
    with pytest.raises(remote.Unavailable, match=r"none\.sock"):
        next(iter(dataset))
