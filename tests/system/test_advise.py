"""`packhouse advise` and `packhouse bench packing`: figures that plan agrees
with, and a page that a strict reader takes."""

import json
import shlex
import xml.etree.ElementTree as ElementTree

import pytest

from conftest import (DATA, assert_refused, packhouse, read_lengths, report_of,
                      succeed)

GSM8K = DATA / "gsm8k_train_cl100k.txt.gz"
SQUAD = DATA / "squad11_bert384.hist.csv.gz"
HTML = "{http://www.w3.org/1999/xhtml}"
SVG = "{http://www.w3.org/2000/svg}"


def options_of(row, capacity):
    """The options with which plan packs as a row says."""
    options = ["--capacity", capacity, "--algorithm", row["algorithm"]]
    if row["window"] is not None:
        options += ["--window", row["window"]]
    if row["effort"] is not None:
        options += ["--effort", row["effort"]]
    return options


def test_rows_are_what_plan_reports():
    report = report_of("advise", GSM8K, "--capacity", 1024, "--window", 256)
    assert report["sequences"] == 7473
    [capacity] = report["capacities"]
    assert len(capacity["rows"]) >= 2
    for row in capacity["rows"]:
        if row["algorithm"] == "best":
            continue  # depends on the time that it has
        plan = report_of("plan", GSM8K, *options_of(row, 1024))
        for key in ["packs", "efficiency", "max_displacement", "waste_tokens"]:
            assert row[key] == plan[key]
        assert capacity["lower_bound_packs"] == plan["lower_bound_packs"]
        assert row["mean_sequences"] == pytest.approx(7473 / plan["packs"])


@pytest.mark.parametrize("lengths", [GSM8K, SQUAD])
def test_recommended_options_are_those_of_plan(lengths):
    report = report_of("advise", lengths)
    recommended = report["recommended"]
    plan = report_of("plan", lengths, *shlex.split(recommended["options"]))
    [capacity] = [each for each in report["capacities"]
                  if each["capacity"] == recommended["capacity"]]
    row = capacity["rows"][capacity["recommended"]["row"]]
    if row["algorithm"] != "best":
        assert plan["packs"] == row["packs"]


def test_attention_and_padding():
    lengths = read_lengths("gsm8k_train_cl100k.txt.gz")
    [capacity] = report_of("advise", GSM8K, "--capacity", 512,
                           "--window", 64)["capacities"]
    tokens = sum(lengths)
    batches = [lengths[i:i + 8] for i in range(0, len(lengths), 8)]
    assert capacity["attention_per_token"] == pytest.approx({
        "packed": sum(n * n for n in lengths) / tokens,
        "pad_to_longest":
            sum(len(each) * max(each)**2 for each in batches) / tokens,
        "one_per_row": len(lengths) * 512**2 / tokens,
    })


def test_overlong_sequences():
    lengths = read_lengths("gsm8k_train_cl100k.txt.gz")
    over = [n for n in lengths if n > 256]
    [capacity] = report_of("advise", GSM8K, "--capacity", 256,
                           "--window", 64)["capacities"]
    assert capacity["overlong_sequences"] == len(over)
    assert capacity["overlong_tokens"] == sum(over)
    assert capacity["dropped_tokens"] == sum(over)
    assert "--overlong drop" in capacity["recommended"]["options"]


@pytest.mark.parametrize("options", [
    ["--capacity", 256, 512],
    ["--max-sequences", 2, "--all"],
    ["--overlong", "error", "--capacity", 256, 512],
    ["--window", 64],
])
def test_page_of_a_list(folder, options):
    check_page(folder, GSM8K, *options)


def test_page_of_a_histogram(folder):
    check_page(folder, SQUAD)


def test_page_of_a_list_with_an_odd_name(folder):
    lengths = folder / "<i>&\"'\x01.txt"
    lengths.write_text("5\n3\n")
    page = check_page(folder, lengths)
    assert page.find(f"{HTML}body/{HTML}h1").text == "Packing <i>&\"' .txt"


def check_page(folder, lengths, *options):
    path = folder / "advice.html"
    report = report_of("advise", lengths, "--html", path, *options)
    text = path.read_text()
    assert text.startswith("<!DOCTYPE html>\n")
    page = ElementTree.fromstring(text)
    assert page.tag == HTML + "html"
    ids = [each.get("id") for each in page.iter() if each.get("id")]
    assert len(ids) == len(set(ids))
    # Nothing from elsewhere, and no script.
    for each in page.iter():
        assert not {"href", "src", "onclick"} & set(each.attrib)
        assert each.tag != HTML + "script"
    pictures = list(page.iter(SVG + "svg"))
    packed = [each for each in report["capacities"] if each["rows"]]
    assert len(pictures) == 1 + len(packed)
    for picture in pictures:
        assert picture.get("role") == "img"
        assert picture.get("aria-label")
        _, _, width, height = map(float, picture.get("viewBox").split())
        for label in picture.iter(SVG + "text"):
            assert 0 <= float(label.get("x")) <= width
            assert 0 <= float(label.get("y")) <= height
    code = page.find(f".//{HTML}code").text
    assert code == report["recommended"]["options"]
    chosen = page.findall(f".//{HTML}tr[@class='chosen']")
    assert len(chosen) == len(packed)
    return page


def test_lengths_from_standard_input_and_page_to_standard_output():
    text = succeed("advise", "-", "--capacity", 8, stdin="5\n3\n4\n4\n8\n")
    assert "5 sequences, 24 tokens" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    page = succeed("advise", "-", "--html", "-", stdin="5\n3\n")
    assert ElementTree.fromstring(page).tag == HTML + "html"


def test_bad_input(folder, write_lengths):
    lengths = write_lengths([5, 3])
    assert_refused(packhouse("advise", folder / "nobody"), "No such file")
    assert_refused(packhouse("advise", SQUAD, "--window", 64), "--window")
    assert_refused(packhouse("advise", lengths, "--html", lengths),
                   "LENGTHS itself")
    assert lengths.read_text() == "5\n3\n"
    assert_refused(packhouse("advise", write_lengths([], "none.txt")),
                   "none.txt")
    assert_refused(packhouse("advise", lengths, "--capacity", 2),
                   "2 of 2", "over-long")
    assert_refused(packhouse("advise", write_lengths([3, 0], "zero.txt")),
                   "ordinal 1")


def test_bench_packing():
    report = report_of("bench", "packing", GSM8K, "--capacity", 512,
                       "--algorithm", "spfhp", "--algorithm", "lpfhp")
    assert report["machine"]["build_type"]
    assert [row["algorithm"] for row in report["rows"]] == ["spfhp", "lpfhp"]
    for row in report["rows"]:
        plan = report_of("plan", GSM8K, "--capacity", 512, "--algorithm",
                         row["algorithm"])
        assert row["packs"] == plan["packs"]
        rate = row["sequences_per_second"]
        assert 0 < rate["median"] <= rate["best"]
