"""Formats through Python, in the memory of whichever library.

What they hold is tested in C++ (tests/kernels); here it is that they arrive.
"""

import numpy as np
import pytest
from packhouse import masks

ROWS = [[5, 3], [12]]
TOKENS = np.arange(100, 120)


def test_golden_batch():
    layout = masks.layout(ROWS, 12)
    numbers = (layout.rows, layout.row_tokens, layout.segments)
    assert numbers == (2, 12, 4)
    assert (layout.max_segment, layout.sequence_tokens) == (12, 20)
    assert layout.sequence_begins().tolist() == [0, 5, 12]
    arrays = masks.fill(
        layout, ["input_ids", "labels", "cu_seqlens"], tokens=TOKENS, pad_id=7
    )
    assert arrays["cu_seqlens"].tolist() == [0, 5, 8, 12, 24]
    assert arrays["cu_seqlens"].dtype == np.int32
    assert arrays["input_ids"][0].tolist() == [*range(100, 108), 7, 7, 7, 7]
    assert arrays["labels"][0].tolist() == [
        *[-100, 101, 102, 103, 104],
        *[-100, 106, 107],
        *[-100] * 4,
    ]


@pytest.mark.parametrize("name", masks.FORMATS)
def test_every_format_has_its_shape(name):
    layout = masks.layout([[4, 8], [12]], 12, pad_mode="slots", alignment=4)
    options = {"cp_ranks": 2, "block_size": (4, 4)}
    shape, dtype = masks.shape_of(name, layout, **options)
    array = masks.fill(layout, [name], tokens=np.arange(24), **options)[name]
    assert array.shape == shape
    assert str(array.dtype) == dtype


def test_dense_masks_by_definition():
    layout = masks.layout(ROWS, 12)
    dense = masks.fill(layout, ["dense_mask"])["dense_mask"]
    ids = masks.fill(layout, ["segment_ids"])["segment_ids"]
    query, key = np.mgrid[:12, :12]
    for row in range(2):
        same = ids[row][:, None] == ids[row][None, :]
        np.testing.assert_array_equal(dense[row, 0], same & (key <= query))
    additive = np.empty((2, 1, 12, 12), np.float32)
    masks.fill(layout, {"dense_mask": additive}, minus_infinity=False)
    lowest = np.finfo(np.float32).min
    np.testing.assert_array_equal(additive, np.where(dense, 0, lowest))


def test_threads_write_the_same():
    layout = masks.layout([[700, 300]], 1100)
    one = masks.fill(layout, ["dense_mask"])["dense_mask"]
    four = masks.fill(layout, ["dense_mask"], threads=4)["dense_mask"]
    np.testing.assert_array_equal(one, four)


def test_trimmed_and_origins():
    layout = masks.layout(
        ROWS, 12, pad_mode="trim", trim_multiple=8, origins=[0, 7, 0]
    )
    assert layout.tokens == 24
    positions = masks.fill(layout, ["position_ids"])["position_ids"]
    assert positions[0, :8].tolist() == [0, 1, 2, 3, 4, 7, 8, 9]


@pytest.mark.parametrize("kind", [np.uint16, np.int32, np.int64, list])
def test_tokens_of_every_type(kind):
    tokens = TOKENS.tolist() if kind is list else TOKENS.astype(kind)
    layout = masks.layout(ROWS, 12, pad_mode="trim")
    ids = masks.fill(layout, ["input_ids"], tokens=tokens)["input_ids"]
    np.testing.assert_array_equal(ids[0], TOKENS)


def test_read_only_and_strided_tokens():
    layout = masks.layout(ROWS, 12, pad_mode="trim")
    frozen = TOKENS.copy()
    frozen.flags.writeable = False
    strided = np.repeat(TOKENS, 2)[::2]
    for tokens in (frozen, strided):
        ids = masks.fill(layout, ["input_ids"], tokens=tokens)["input_ids"]
        np.testing.assert_array_equal(ids[0], TOKENS)


@pytest.mark.parametrize(
    ("formats", "options", "error", "words"),
    [
        (["position"], {}, ValueError, "no format 'position'"),
        (["kv_start"], {"widow": 3}, TypeError, "no option 'widow'"),
        (["kv_start"], {"pad_id": "x"}, TypeError, "pad_id is 'x'"),
        (["kv_start"], {"mask": "full"}, ValueError, "mask is 'full'"),
        (["kv_start"], {"window": 3}, ValueError, "causal has no window"),
        (["input_ids"], {}, ValueError, "needs the source tokens"),
        (["input_ids"], {"tokens": [1.5]}, ValueError, "tokens"),
        ({"kv_start": [1]}, {}, TypeError, "kv_start is of type"),
        (["cp_indices"], {"cp_ranks": 2}, ValueError, "segment 0 has 5"),
        (["kv_start"], {"threads": 0}, ValueError, "threads are 0"),
    ],
)
def test_wrong_requests(formats, options, error, words):
    with pytest.raises(error, match=words):
        masks.fill(masks.layout(ROWS, 12), formats, **options)


def test_wrong_outputs_are_not_written():
    layout = masks.layout(ROWS, 12)
    good = np.full((2, 12), 7, np.int32)
    for bad, words in (
        (np.zeros((2, 11), np.int32), r"\[2, 11\], it must be \[2, 12\]"),
        (np.zeros((2, 12), np.float32), "float32"),
        (np.zeros((2, 24), np.int32)[:, ::2], "strides"),
    ):
        with pytest.raises(ValueError, match=words):
            masks.fill(layout, {"kv_start": good, "kv_end": bad})
        assert (good == 7).all()
    frozen = np.zeros((2, 12), np.int32)
    frozen.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match="read"):
        masks.fill(layout, {"kv_end": frozen})


@pytest.mark.parametrize(
    ("rows", "settings", "words"),
    [
        ([[5, 8]], {}, "row 0 has 13 tokens"),
        ([[5, 0]], {}, "length 0"),
        ([[5, -1]], {}, r"rows\[0\]\[1\] is -1"),
        ([], {}, "at least one row"),
        ([[5]], {"pad_mode": "none"}, "pad_mode is 'none'"),
        ([[5]], {"pad_mode": "trim", "alignment": 2}, "alignment is 2"),
    ],
)
def test_wrong_layouts(rows, settings, words):
    with pytest.raises(ValueError, match=words):
        masks.layout(rows, 12, **settings)


def test_torch_tensors_are_written_where_they_lie():
    torch = pytest.importorskip("torch")
    layout = masks.layout(ROWS, 12)
    tensors = {
        "input_ids": torch.empty(2, 12, dtype=torch.int64),
        "cu_seqlens": torch.empty(5, dtype=torch.int32),
        "dense_mask": torch.empty(2, 1, 12, 12, dtype=torch.bfloat16),
    }
    given = torch.arange(100, 120, dtype=torch.int32)
    filled = masks.fill(layout, tensors, tokens=given)
    assert filled["input_ids"] is tensors["input_ids"]
    assert tensors["cu_seqlens"].tolist() == [0, 5, 8, 12, 24]
    assert tensors["input_ids"][1].tolist() == list(range(108, 120))
    seen = tensors["dense_mask"][0, 0, 4]
    assert seen[:5].tolist() == [0] * 5
    assert torch.isneginf(seen[5:]).all()


def test_jax_arrays_are_read():
    jax = pytest.importorskip("jax")
    layout = masks.layout(ROWS, 12, pad_mode="trim")
    tokens = jax.numpy.arange(100, 120, dtype="int32")
    ids = masks.fill(layout, ["input_ids"], tokens=tokens)["input_ids"]
    np.testing.assert_array_equal(ids[0], TOKENS)
