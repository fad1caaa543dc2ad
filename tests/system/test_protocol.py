"""The wire contract, from the outside: a client that was written from
docs/protocol.md in another language."""

import json
import random
import threading

import pytest

from conftest import read_lengths, succeed

grpc = pytest.importorskip("grpc")
from protocol_client import METHOD, ProtocolClient, load_messages  # noqa: E402


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    return load_messages(tmp_path_factory.mktemp("proto"))


def cut(lengths, seed):
    """Random batches, now and then an empty one."""
    draw = random.Random(seed)
    batches, begin = [], 0
    while begin < len(lengths):
        size = draw.randrange(0, 400)
        batches.append(lengths[begin:begin + size])
        begin += size
    return batches


def planned(lengths, folder, **options):
    path = folder / "lengths.txt"
    path.write_text("".join(f"{length}\n" for length in lengths))
    packs = folder / "packs.jsonl"
    words = [str(word) for name, value in options.items()
             for word in (f"--{name}", value)]
    succeed("plan", path, "--packs", packs, *words)
    return [json.loads(line)["ordinals"]
            for line in packs.read_text().splitlines()]


def test_a_client_in_another_language(servers, folder, messages):
    server = servers.start()
    lengths = read_lengths("gsm8k_train_cl100k.txt.gz")
    spec = messages.Spec(capacity_tokens=1024, algorithm="sliding")
    client = ProtocolClient(messages, server.targets[0], spec,
                            cut(lengths, 1), "one")
    packs = client.run(60)
    assert client.connections == 1
    assert packs == planned(lengths, folder, capacity=1024,
                            algorithm="sliding")


@pytest.mark.parametrize("algorithm", ["spfhp", "sliding"])
def test_it_survives_its_server(servers, folder, messages, algorithm):
    """The server is killed again and again while the stream runs."""
    address = f"unix:{folder}/server.sock"
    lengths = read_lengths("gsm8k_train_cl100k.txt.gz") * 40
    spec = messages.Spec(capacity_tokens=1024, algorithm=algorithm)
    server = servers.start(address)
    client = ProtocolClient(messages, address, spec, cut(lengths, 2), "two")
    thread = threading.Thread(target=client.run, args=(60,))
    thread.start()
    kills = 0
    while thread.is_alive() and kills < 10:
        # At a moment that has nothing to do with the stream's.
        thread.join(random.Random(kills).uniform(0.02, 0.3))
        server.kill()
        kills += 1
        server = servers.start(address)
    thread.join(60)
    assert client.ended is not None
    assert kills > 2 and client.connections > kills / 2, (
        kills, client.connections)
    assert client.packs == planned(lengths, folder, capacity=1024,
                                   algorithm=algorithm)


def test_a_message_that_is_too_large(servers, messages):
    """gRPC refuses it, without a reason; the server does not say that the
    client went away."""
    server = servers.start()
    requests = [
        messages.PackRequest(open=messages.Open(
            protocol_version=1, spec=messages.Spec(capacity_tokens=8))),
        messages.PackRequest(open=messages.Open(stream_id="x" * (17 << 20)))]
    with grpc.insecure_channel(server.targets[0]) as channel:
        call = channel.stream_stream(
            METHOD, messages.PackRequest.SerializeToString,
            messages.PackResponse.FromString)(iter(requests), timeout=60)
        with pytest.raises(grpc.RpcError):
            for _ in call:
                pass
    assert call.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "grpc-status-details-bin" not in dict(call.trailing_metadata())
    assert server.stop() == 0
    assert "or sent a message of more than 16 MiB" in server.log()
