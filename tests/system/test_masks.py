"""`packhouse masks`: known batches format by format, pictures, refusals."""

import json
import struct
import zlib

import pytest

from conftest import assert_refused, packhouse, report_of, succeed

GOLDEN = ("--rows", "5,3;12", "--capacity", 12)


def values_of(name, *arguments):
    """The values of one format, as lists of lists."""
    report = report_of("masks", "--format", name, *arguments)
    assert list(report["formats"]) == [name]
    return report["formats"][name]["values"]


def test_scalars_are_plain_numbers():
    report = report_of("masks", *GOLDEN)
    assert report["formats"] == {}
    assert {key: report[key] for key in [
        "rows", "row_tokens", "tokens", "sequences", "sequence_tokens",
        "segments", "max_sequence", "min_sequence", "max_segment",
        "attended_tokens"]} == {
            "rows": 2, "row_tokens": 12, "tokens": 24, "sequences": 3,
            "sequence_tokens": 20, "segments": 4, "max_sequence": 12,
            "min_sequence": 3, "max_segment": 12, "attended_tokens": 24}


@pytest.mark.parametrize("options, expected", [
    ([], [0, 5, 8, 12, 24]),
    (["--pad-mode", "trim"], [0, 5, 8, 20]),
    (["--max-segments", 8], [0, 5, 8, 12, 24, 24, 24, 24, 24]),
    (["--flat"], [0, 5, 8, 12, 24]),
    (["--pad-mode", "masked"], [0, 5, 8, 20]),
    (["--pad-mode", "merge_last"], [0, 5, 12, 24]),
    (["--pad-mode", "singletons"], [0, 5, 8, 9, 10, 11, 12, 24]),
])
def test_offsets(options, expected):
    assert values_of("cu_seqlens", *GOLDEN, *options) == expected


@pytest.mark.parametrize("name, options, expected", [
    ("position_ids", [], [0, 1, 2, 3, 4, 0, 1, 2, 0, 1, 2, 3]),
    ("segment_ids", [], [0] * 5 + [1] * 3 + [2] * 4),
    ("sequence_ids", [], [1] * 5 + [2] * 3 + [0] * 4),
    ("seq_idx", [], [0] * 5 + [1] * 3 + [-1] * 4),
    ("kv_start", [], [0] * 5 + [5] * 3 + [8] * 4),
    ("input_ids", ["--pad-id", 99], [*range(8), 99, 99, 99, 99]),
    ("labels", [], [-100, 1, 2, 3, 4, -100, 6, 7] + [-100] * 4),
    ("labels", ["--label-shift", "shifted"],
     [1, 2, 3, 4, -100, 6, 7, -100] + [-100] * 4),
    ("labels", ["--label-shift", "none"], [*range(8)] + [-100] * 4),
    ("padding_mask", [], [False] * 8 + [True] * 4),
    ("sequence_lengths", [], [5, 3] + [0] * 10),
])
def test_first_row_of_token_formats(name, options, expected):
    values = values_of(name, *GOLDEN, *options)
    assert len(values) == 2
    assert values[0] == expected


@pytest.mark.parametrize("options, expected", [
    ([], [5] * 5 + [8] * 3 + [12] * 4),
    (["--mask", "causal_window", "--window", 3],
     [3, 4, 5, 5, 5, 8, 8, 8, 11, 12, 12, 12]),
])
def test_flash_mask(options, expected):
    [[row], _] = values_of("flash_mask", *GOLDEN, *options)
    assert [end for [end] in row] == expected


def test_other_golden_vectors():
    assert values_of("targets", *GOLDEN) == [4, 2, 11]
    assert values_of("targets", *GOLDEN, "--label-shift", "shifted") == [
        4, 2, 11]
    assert values_of("unpad_indices", *GOLDEN, "--pad-mode", "masked") == [
        *range(8), *range(12, 24)]
    assert values_of("doc_lens", *GOLDEN) == [[5, 3, 4], [12, 0, 0]]
    assert values_of("chunk_indices", *GOLDEN, "--chunk", 4) == [
        [0, 0], [0, 1], [1, 0], [2, 0], [3, 0], [3, 1], [3, 2]]
    assert values_of("chunk_offsets", *GOLDEN, "--chunk", 4) == [0, 2, 3, 4, 7]
    packed = ["--rows", "5,3", "--capacity", 8]
    assert bytes(values_of("packed_mask", *packed)).hex() == "619cf701d901"
    assert values_of("packed_mask_indptr", *packed) == [0, 4, 6]
    assert values_of("cp_indices", "--rows", "8,8,8,16", "--capacity", 40,
                     "--cp-ranks", 4) == [
        [0, 7, 8, 15, 16, 23, 24, 25, 38, 39],
        [1, 6, 9, 14, 17, 22, 26, 27, 36, 37],
        [2, 5, 10, 13, 18, 21, 28, 29, 34, 35],
        [3, 4, 11, 12, 19, 20, 30, 31, 32, 33]]


# Blocks of 4 x 4: counts, then the rows of indices.
BLOCK_TABLES = {
    ("causal", 0): ["121 012/012/201", "000 012/012/012", "211 012/102/201",
                    "000 012/012/012"],
    ("document", 0): ["120 102/012/012", "101 012/012/201", "120 102/012/012",
                      "101 012/012/201"],
    ("causal_window", 0): ["121 012/012/201", "000 012/012/012",
                           "211 012/102/201", "000 012/012/012"],
    ("masked", 0): ["120 012/012/012", "000 012/012/012", "210 012/102/012",
                    "000 012/012/012"],
    ("causal", 1): ["111 012/102/201", "012 012/012/012", "111 012/102/201",
                    "210 120/201/012"],
    ("document", 1): ["000 012/012/012", "333 012/012/012", "000 012/012/012",
                      "333 012/012/012"],
    ("causal_window", 1): ["122 012/012/120", "000 012/012/012",
                           "221 012/120/201", "000 012/012/012"],
}


@pytest.mark.parametrize("mask, row", BLOCK_TABLES)
def test_block_mask(mask, row):
    options = {"causal": ["--mask", "causal"],
               "document": ["--mask", "document"],
               "causal_window": ["--mask", "causal_window", "--window", 3],
               "masked": ["--pad-mode", "masked"]}[mask]
    tables = ["kv", "full_kv", "q", "full_q"]
    names = [f"{table}_{part}" for table in tables
             for part in ["num_blocks", "indices"]]
    formats = report_of("masks", *GOLDEN, "--block-size", 4, *options,
                        "--format", ",".join(names))["formats"]
    assert list(formats) == names
    for table, expected in zip(tables, BLOCK_TABLES[mask, row]):
        [counts] = formats[f"{table}_num_blocks"]["values"][row]
        [indices] = formats[f"{table}_indices"]["values"][row]
        rows = "/".join("".join(map(str, line)) for line in indices)
        assert "".join(map(str, counts)) + " " + rows == expected


def test_padding_is_one_segment():
    options = ["--rows", "3,2", "--capacity", 8]
    assert values_of("position_ids", *options) == [[0, 1, 2, 0, 1, 0, 1, 2]]
    assert values_of("cu_seqlens", *options) == [0, 3, 5, 8]
    assert values_of("cu_seqlens", *options, "--pad-mode", "trim") == [0, 3, 5]
    assert report_of("masks", *options)["max_segment"] == 3


def test_slots_have_two_kinds_of_offsets():
    options = ["--rows", "5,3", "--capacity", 16, "--alignment", 4,
               "--pad-mode", "slots"]
    assert values_of("cu_seqlens", *options) == [0, 5, 8]
    # The tail of the row belongs to its last slot.
    assert values_of("cu_seqlens_padded", *options) == [0, 8, 16]
    assert values_of("seq_used", *options) == [5, 3]


def test_first_side_of_a_block_is_that_of_queries():
    [[rows]] = values_of("kv_indices", "--rows", 256, "--capacity", 256,
                         "--block-size", "64x128")
    assert len(rows) == 4
    assert all(len(row) == 2 for row in rows)


@pytest.mark.parametrize("rows, partial, full", [
    ("100,156", [1, 2], [0, 0]),
    ("128,128", [1, 1], [0, 0]),
    ("256", [1, 1], [0, 1]),
    ("384", [1, 1, 1], [0, 1, 2]),
    ("256,128", [1, 1, 1], [0, 1, 0]),
])
def test_counts_of_blocks_of_128(rows, partial, full):
    capacity = sum(map(int, rows.split(",")))
    options = ["--rows", rows, "--capacity", capacity]
    assert values_of("kv_num_blocks", *options) == [[partial]]
    assert values_of("full_kv_num_blocks", *options) == [[full]]


def test_additive_masks_are_valid_json():
    options = ["--rows", "1", "--capacity", 2, "--dtype", "bfloat16"]
    text = succeed("masks", "--format", "dense_mask", "--json", *options)

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    report = json.loads(text, parse_constant=refuse)
    assert report["formats"]["dense_mask"]["values"] == [
        [[[0, "-inf"], ["-inf", 0]]]]
    [[[[_, lowest], _]]] = values_of("dense_mask", *options, "--lowest")
    assert lowest == pytest.approx(-3.3895e38, rel=1e-4)


def test_people_get_rows_or_a_drawing():
    text = succeed("masks", *GOLDEN, "--format", "cu_seqlens")
    assert "cu_seqlens  int32 [5]\n    0  5  8 12 24\n" in text
    drawing = succeed("masks", *GOLDEN)
    assert " 6 . . . . . B B . . . . .\n" in drawing
    assert "11 . . . . . . . . # # # #\n" in drawing
    scaled = succeed("masks", "--rows", "700,300", "--capacity", 2000)
    assert "a line is 54 queries, a column 27 keys" in scaled
    for line in (text + drawing + scaled).splitlines():
        assert len(line) <= 80


def read_png(data):
    """Width, height and rows of pixels; 8 bits of red, green and blue."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        [crc] = struct.unpack(">I", data[at + 8 + size:at + 12 + size])
        assert crc == zlib.crc32(kind + body)
        chunks[kind] = chunks.get(kind, b"") + body
        at += 12 + size
    width, height, bits, colours = struct.unpack(">IIBB", chunks[b"IHDR"][:10])
    assert (bits, colours) == (8, 2)
    raw = zlib.decompress(chunks[b"IDAT"])
    stride, rows, above = 3 * width, [], bytes(3 * width)
    for y in range(height):
        filtered = raw[y * (stride + 1):(y + 1) * (stride + 1)]
        line = bytearray(filtered[1:])
        for x in range(stride):
            left = line[x - 3] if x >= 3 else 0
            corner = above[x - 3] if x >= 3 else 0
            estimate = left + above[x] - corner
            paeth = min((abs(estimate - value), i, value) for i, value in
                        enumerate([left, above[x], corner]))[2]
            line[x] = (line[x] + [0, left, above[x], (left + above[x]) // 2,
                                  paeth][filtered[0]]) % 256
        above = bytes(line)
        rows.append([tuple(above[3 * x:3 * x + 3]) for x in range(width)])
    return width, height, rows


def test_picture(folder):
    path = folder / "mask.png"
    report = report_of("masks", "--rows", "2,1", "--capacity", 4,
                       "--picture", path)
    assert report["rows"] == 1
    width, height, pixels = read_png(path.read_bytes())
    # 4 x 4 pairs of 32 pixels, a frame of 1, a gap of 8.
    assert (width, height) == (146, 146)
    cell = lambda q, k: pixels[9 + 32 * q + 16][9 + 32 * k + 16]
    first, second = cell(0, 0), cell(2, 2)
    white, grey, light = (255,) * 3, (150,) * 3, (238,) * 3
    assert len({first, second, white, grey, light}) == 5
    assert [[cell(q, k) for k in range(4)] for q in range(4)] == [
        [first, white, white, light],
        [first, first, white, light],
        [white, white, second, light],
        [light, light, light, grey]]


def test_picture_on_standard_output_is_all_there_is():
    result = packhouse("masks", "--rows", "2", "--capacity", 4,
                       "--picture", "-", encoding="latin-1")
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.startswith("\x89PNG")
    assert result.stdout.endswith("IEND\xaeB`\x82")


def test_ignored_labels_are_written_as_asked():
    """A prompt of -100 in the source, 0 in the output, and a real token 0."""
    options = ["--rows", "4", "--capacity", 5, "--tokens", "7,8,0,9",
               "--labels", "-100,-100,0,9", "--label-shift", "shifted"]
    assert values_of("labels", *options, "--ignore-id", 0) == [[0, 0, 9, 0, 0]]
    assert values_of("loss_mask", *options, "--ignore-id", 0) == [[0, 1, 1, 0, 0]]
    assert values_of("labels", *options, "--source-ignore-id", 9) == [
        [-100, 0, -100, -100, -100]]


def test_trimmed_batches_filled_up_to_a_multiple():
    options = ["--rows", "5,3;6", "--capacity", 12, "--pad-mode", "trim"]
    assert values_of("cu_seqlens", *options, "--trim-multiple", 8) == [0, 5, 8, 14, 16]


@pytest.mark.parametrize("arguments, words", [
    (["--rows", "5,9", "--capacity", 12], ["row 0", 14, "--capacity is 12"]),
    (["--rows", "5,0", "--capacity", 12], ["length 0"]),
    (["--rows", "5,-1", "--capacity", 12], ["--rows", "-1"]),
    (["--rows", "5,,3", "--capacity", 12], ["--rows"]),
    (["--rows", "5", "--capacity", 0], ["--capacity", 0]),
    (["--rows", "5", "--capacity", 2 ** 31], ["--capacity", 2 ** 31]),
    (["--rows", "1073741824,1073741824", "--capacity", 2 ** 31 - 1],
     [2 ** 31, 2 ** 31 - 1]),
    (["--rows", "5"], ["--capacity"]),
    (["--capacity", 5], ["--rows"]),
    ([*GOLDEN, "--format", "cu_seqlen"], ["--format", "cu_seqlen"]),
    ([*GOLDEN, "--format", "cu_seqlens,cu_seqlens"], ["cu_seqlens", "twice"]),
    ([*GOLDEN, "--format", "cu_seqlens", "--dtype", "bool"],
     ["cu_seqlens", "bool", "int32 or int64"]),
    ([*GOLDEN, "--mask", "causal_window"], ["causal_window", "--window"]),
    ([*GOLDEN, "--window", 3], ["causal", "--window"]),
    ([*GOLDEN, "--block-size", "4x"], ["--block-size", "4x"]),
    ([*GOLDEN, "--pad-mode", "none"], ["--pad-mode", "none", "merge_last"]),
    ([*GOLDEN, "--pad-mode", "trim", "--alignment", 4], ["--alignment is 4"]),
    ([*GOLDEN, "--max-segments", 2, "--format", "cu_seqlens"],
     ["--max-segments is 2", 4]),
    ([*GOLDEN, "--cp-ranks", 2, "--format", "cp_indices"], ["segment 0", 5]),
    ([*GOLDEN, "--mask", "document", "--window", 1, "--format", "q_ranges"],
     ["document", "--window"]),
    ([*GOLDEN, "--mask", "symmetric_window", "--window", 1, "--format",
      "q_ranges"], ["q_ranges", "window"]),
    ([*GOLDEN, "--tokens", "1,2"], ["--tokens", 2, 20]),
    ([*GOLDEN, "--format", "dense_mask", "--lowest"], ["--lowest", "bfloat16"]),
    ([*GOLDEN, "--format", "dense_mask", "--true-masks", "--dtype", "float32"],
     ["--true-masks", "bool"]),
    ([*GOLDEN, "--true-masks"], ["--true-masks", "dense_mask"]),
    ([*GOLDEN, "--picture", "/no/such/mask.png"], ["/no/such"]),
    ([*GOLDEN, "--picture", "-", "--json"], ["--picture", "--json"]),
    (["--rows", "9" * 5000, "--capacity", 12], ["--rows", "..."]),
])
def test_refused(arguments, words):
    assert_refused(packhouse("masks", *arguments), *words)
