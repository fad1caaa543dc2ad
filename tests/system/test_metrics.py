"""The HTTP pages: counters that add up, and health."""

import re

import pytest

import oracle
from conftest import get, packhouse, spec_arguments, succeed

# As the text format has them: a name, labels in braces, a number.
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{[^}]*\})? (\S+)")

def scrape(server):
    """The samples of /metrics by name and labels, as they are written."""
    answer = get(server, "/metrics")
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith(
        "text/plain; version=0.0.4")
    samples = {}
    for line in answer.text.splitlines():
        if line.startswith("#") or not line:
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        samples[match[1] + (match[2] or "")] = float(match[3])
    return samples


def assert_adds_up(samples):
    waste = (samples['packhouse_waste_tokens_total{cause="tail"}'] +
             samples['packhouse_waste_tokens_total{cause="alignment"}'])
    assert samples["packhouse_streams"] == 0
    assert samples["packhouse_pending_units"] == 0
    dropped = (
        samples['packhouse_dropped_sequences_total{reason="overlong"}'] +
        samples['packhouse_dropped_sequences_total{reason="empty"}'])
    assert (samples["packhouse_sequences_total"] +
            samples["packhouse_extra_pieces_total"] +
            samples["packhouse_resumed_units_total"]) == (
                samples["packhouse_packed_units_total"] +
                samples["packhouse_replayed_units_total"] +
                samples["packhouse_abandoned_units_total"] + dropped)
    assert samples["packhouse_memory_committed_bytes"] == 0
    assert (samples["packhouse_tokens_total"] +
            samples["packhouse_resumed_tokens_total"]) == (
        samples["packhouse_slot_tokens_total"] - waste +
        samples["packhouse_replayed_tokens_total"] +
        samples["packhouse_abandoned_tokens_total"] +
        samples["packhouse_truncated_tokens_total"] +
        samples["packhouse_dropped_tokens_total"])
    ended = sum(value for name, value in samples.items()
                if name.startswith("packhouse_streams_ended_total"))
    assert samples["packhouse_streams_started_total"] == ended


@pytest.fixture
def server(servers, folder):
    return servers.start(f"unix:{folder}/server.sock", http="127.0.0.1:0")


def test_before_the_first_request(server):
    samples = scrape(server)
    assert_adds_up(samples)
    assert samples["packhouse_sequences_total"] == 0
    assert samples["packhouse_packs_total"] == 0


@pytest.mark.parametrize("spec", [
    {"capacity": 512},
    {"capacity": 512, "window": 7},
    {"capacity": 512, "window": 100, "alignment": 64, "max_sequences": 3},
    {"capacity": 2**31 - 1, "window": 3},
], ids=str)
@pytest.mark.parametrize("streams", [1, 3])
def test_counters_are_exact(server, write_lengths, spec, streams):
    lengths = [1 + i * 7919 % 509 for i in range(1000)]
    arguments = [
        "stream", write_lengths(lengths), "--target", server.targets[0],
        *spec_arguments(**spec), "--streams", streams
    ]
    for times in (1, 2):  # counters only grow
        succeed(*arguments)
        samples = scrape(server)
        assert_adds_up(samples)
        packs = sum(len(oracle.plan(lengths[k::streams], **spec))
                    for k in range(streams))
        footprints = sum(
            oracle.footprint(n, spec.get("alignment", 1)) for n in lengths)
        expected = {
            "packhouse_sequences_total": len(lengths),
            "packhouse_tokens_total": sum(lengths),
            "packhouse_packed_units_total": len(lengths),
            "packhouse_abandoned_units_total": 0,
            "packhouse_packs_total": packs,
            "packhouse_slot_tokens_total": packs * spec["capacity"],
            'packhouse_waste_tokens_total{cause="tail"}':
                packs * spec["capacity"] - footprints,
            'packhouse_waste_tokens_total{cause="alignment"}':
                footprints - sum(lengths),
            "packhouse_refused_batches_total": 0,
            "packhouse_streams_started_total": streams,
            'packhouse_streams_ended_total{code="OK"}': streams,
        }
        assert {name: samples[name] for name in expected} == {
            name: times * value for name, value in expected.items()
        }


@pytest.mark.parametrize("overlong, expected", [
    ("drop", {'packhouse_dropped_sequences_total{reason="overlong"}': 2,
              "packhouse_dropped_tokens_total": 25 + 31}),
    ("truncate", {"packhouse_truncated_sequences_total": 2,
                  "packhouse_truncated_tokens_total": 15 + 21}),
    ("split", {"packhouse_split_sequences_total": 2,
               "packhouse_extra_pieces_total": 2 + 3}),
])
def test_what_policies_do_is_counted(server, write_lengths, overlong,
                                     expected):
    succeed("stream", write_lengths([25, 4, 0, 31, 10]), "--target",
            server.targets[0], "--capacity", 10, "--overlong", overlong,
            "--empty", "drop")
    samples = scrape(server)
    assert_adds_up(samples)
    assert samples["packhouse_tokens_total"] == 70
    assert samples['packhouse_dropped_sequences_total{reason="empty"}'] == 1
    assert {name: samples[name] for name in expected} == expected


def test_counters_beyond_32_bits(server, write_lengths):
    # A scraped number must be exact, not one in six digits.
    succeed("stream", write_lengths([2**31 - 1, 2**31 - 3, 5]), "--target",
            server.targets[0], "--capacity", 2**31 - 1)
    assert scrape(server)["packhouse_tokens_total"] == 2**32 + 1


def test_a_spec_that_is_refused_counts_no_sequence(server, write_lengths):
    result = packhouse("stream", write_lengths([5, 3]), "--target",
                       server.targets[0], "--capacity", 8, "--window",
                       2**31 - 1)  # more than this server keeps for a stream
    assert result.returncode != 0
    samples = scrape(server)
    assert_adds_up(samples)
    assert samples["packhouse_sequences_total"] == 0


def test_health_page(server):
    answer = get(server, "/healthz")
    assert (answer.status, answer.text) == (200, "ok\n")


@pytest.mark.parametrize("path", ["/", "/metric", "/metrics/"])
def test_there_is_no_other_page(server, path):
    assert get(server, path).status == 404


def test_pages_are_read_only(server):
    assert get(server, "/metrics", method="HEAD").text == ""
    assert get(server, "/metrics", method="POST").status == 405
