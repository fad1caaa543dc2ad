"""`packhouse stream`: the packs of `plan`, over any transport."""

import os
import random

import pytest

import oracle
from conftest import (DATA, read_lengths, report_of, spec_arguments, succeed)

UNIX, TCP = 0, 1


@pytest.fixture(params=[UNIX, TCP], ids=["unix", "tcp"])
def target(request, shared_server):
    return shared_server.targets[request.param]


SPECS = [
    {"capacity": 512},
    {"capacity": 512, "algorithm": "lpfhp"},
    {"capacity": 512, "window": 1},
    {"capacity": 512, "window": 64, "max_sequences": 3},
    {"capacity": 512, "window": 100, "alignment": 16},
    {"capacity": 512, "algorithm": "lpfhp", "window": 5000, "max_sequences": 2,
     "alignment": 8},
    {"capacity": 2**31 - 1, "window": 2},
]


@pytest.mark.parametrize("spec", SPECS, ids=str)
def test_stream_equals_plan(write_lengths, folder, target, spec):
    choose = random.Random(str(spec))
    lengths = write_lengths([choose.randint(1, 512) for _ in range(3000)])
    planned, streamed = folder / "plan.jsonl", folder / "stream.jsonl"
    plan = report_of("plan", lengths, *spec_arguments(**spec),
                     "--packs", planned)
    stream = report_of("stream", lengths, "--target", target,
                       *spec_arguments(**spec), "--packs", streamed)
    assert planned.read_bytes() == streamed.read_bytes()
    assert ({**plan, "seconds": 0}.items() <= {**stream, "seconds": 0}.items())


@pytest.mark.parametrize("batch", [1, 2, 7, 64, 1000, 4096, 65536])
def test_batch_size_changes_nothing(folder, target, batch):
    lengths = DATA / "gsm8k_train_cl100k.txt.gz"
    spec = spec_arguments(capacity=1024, window=300)
    planned, streamed = folder / "plan.jsonl", folder / "stream.jsonl"
    succeed("plan", lengths, *spec, "--packs", planned)
    succeed("stream", lengths, "--target", target, *spec, "--packs", streamed,
            "--batch", batch)
    assert planned.read_bytes() == streamed.read_bytes()


@pytest.mark.parametrize("algorithm", ["spfhp", "lpfhp"])
@pytest.mark.parametrize("streams", [1, 2, 3, 8])
def test_several_streams(folder, target, streams, algorithm):
    path = DATA / "gsm8k_train_cl100k.txt.gz"
    lengths = read_lengths("gsm8k_train_cl100k.txt.gz")
    packs = folder / "packs.jsonl"
    spec = {"capacity": 1024, "algorithm": algorithm, "window": 256}
    report = report_of("stream", path, "--target", target,
                       *spec_arguments(**spec), "--streams", streams,
                       "--packs", packs)
    assert packs.read_text() == oracle.streams_text(lengths, streams, **spec)
    assert report["sequences"] == len(lengths)
    assert report["tokens"] == sum(lengths)
    plans = [
        oracle.plan(lengths[k::streams], **spec) for k in range(streams)
    ]
    assert report["packs"] == sum(map(len, plans))
    assert report["max_displacement"] == max(map(oracle.displacement, plans))
    succeed("verify", path, packs, *spec_arguments(**spec),
            "--streams", streams)


def test_more_streams_than_sequences(write_lengths, folder, target):
    packs = folder / "packs.jsonl"
    report = report_of("stream", write_lengths([5, 3]), "--target", target,
                       "--capacity", 8, "--streams", 4, "--packs", packs)
    assert packs.read_text() == (
        '{"ordinals":[0],"lengths":[5],"stream":0}\n'
        '{"ordinals":[0],"lengths":[3],"stream":1}\n')
    assert (report["sequences"], report["packs"]) == (2, 2)
    # Each stream is packed by itself, so the bound is the sum of two.
    assert report["lower_bound_packs"] == 2


def test_window_larger_than_the_credit(folder, target, write_lengths):
    # The whole list waits in one window, far more than may be on the way.
    lengths = [1 + i * 7919 % 2048 for i in range(500_000)]
    path, packs = write_lengths(lengths), folder / "packs.jsonl"
    spec = spec_arguments(capacity=2048, window=500_000)
    report = report_of("stream", path, "--target", target, *spec,
                       "--packs", packs)
    assert report["sequences"] == len(lengths)
    succeed("verify", path, packs, *spec)


def test_list_from_standard_input(folder, target):
    packs = folder / "packs.jsonl"
    succeed("stream", "-", "--target", target, "--capacity", 8,
            "--packs", packs, stdin="5\n3\n")
    assert packs.read_text() == '{"ordinals":[0,1],"lengths":[5,3]}\n'


def test_proxy_variables_do_not_catch_local_targets(write_lengths, target):
    environment = {
        **os.environ, "http_proxy": "http://127.0.0.1:9",
        "https_proxy": "http://127.0.0.1:9"
    }
    assert report_of("stream", write_lengths([5, 3]), "--target", target,
                     "--capacity", 8, env=environment)["packs"] == 1
