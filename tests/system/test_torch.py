"""Formats against what PyTorch and Hugging Face make of the same batch, and
attention over a packed batch against each sequence alone. Needs torch (and for
some transformers): `scripts/test --torch`."""

import json
import random

import pytest

from conftest import packhouse

torch = pytest.importorskip("torch", reason="no torch; scripts/test --torch installs it")

KINDS = ["document", "causal", "causal_window", "symmetric_window"]
BLOCK_TABLES = ["kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices",
                "q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"]
DTYPES = {"int32": torch.int32, "int64": torch.int64, "bool": torch.bool,
          "float32": torch.float32}


def formats(rows, capacity, names, *options):
    """The formats as tensors, and the numbers of the layout."""
    text = ";".join(",".join(map(str, row)) for row in rows)
    done = packhouse("masks", "--rows", text, "--capacity", capacity, "--json",
                     "--format", ",".join(names), *options)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    tensors = {}
    for name, value in report["formats"].items():
        values = json.loads(json.dumps(value["values"]).replace('"-inf"', "-Infinity"))
        tensors[name] = torch.tensor(values, dtype=DTYPES[value["dtype"]]).reshape(value["shape"])
    return tensors, report


def draw_rows(rng, capacity):
    rows = []
    for _ in range(rng.randint(1, 3)):
        row, left = [], capacity
        while left > 0 and rng.random() > 0.15:
            row.append(rng.randint(1, min(left, rng.choice([3, 40, capacity]))))
            left -= row[-1]
        rows.append(row)
    return rows


def token_ids(rows, capacity):
    """Which sequence each token is of; padding is one more."""
    ids = torch.zeros(len(rows), capacity, dtype=torch.int64)
    for r, row in enumerate(rows):
        numbers = [i for i, length in enumerate(row) for _ in range(length)]
        ids[r] = torch.tensor(numbers + [len(row)] * (capacity - len(numbers)))
    return ids


def mask_mod(ids, kind, window, padding):
    """The definition of a mask; without `padding`, tokens of it attend nothing."""

    def allowed(b, h, q, k):
        same = ids[b, q] == ids[b, k]
        if padding is not None:
            same = same & ~padding[b, q]
        near = {"document": same, "causal": k <= q,
                "causal_window": (k <= q) & (q - k < window),
                "symmetric_window": (q - k).abs() <= window}[kind]
        return same & near
    return allowed


@pytest.mark.parametrize("seed", range(60))
def test_block_mask_is_what_create_block_mask_makes(seed):
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    rng = random.Random(seed)
    capacity = rng.choice([1, 5, 127, 128, 130, 200, 257])
    rows = draw_rows(rng, capacity)
    kind, window = rng.choice(KINDS), rng.randint(1, 40)
    block = rng.choice([(128, 128), (16, 16), (7, 5), (64, 128), (128, 64), (9, 33)])
    masked = rng.random() < 0.3 and all(rows)
    options = ["--mask", kind, "--block-size", f"{block[0]}x{block[1]}"]
    if "window" in kind:
        options += ["--window", window]
    if masked:
        options += ["--pad-mode", "masked"]
    ours, _ = formats(rows, capacity, BLOCK_TABLES, *options)

    ids = token_ids(rows, capacity)
    padding = None
    if masked:
        real = torch.tensor([[sum(row)] for row in rows])
        padding = torch.arange(capacity)[None, :] >= real
    theirs = flex.create_block_mask(mask_mod(ids, kind, window, padding), len(rows), 1,
                                    capacity, capacity, device="cpu", BLOCK_SIZE=block)
    for name in BLOCK_TABLES:
        assert torch.equal(ours[name], getattr(theirs, name)), (name, rows, options)

    orders = ["dq_write_order", "dq_write_order_full"]
    ours_too, _ = formats(rows, capacity, orders, *options)
    ordered = flex.create_block_mask(theirs.mask_mod, len(rows), 1, capacity, capacity,
                                     device="cpu", BLOCK_SIZE=block, compute_dq_write_order=True)
    for name in orders:
        assert torch.equal(ours_too[name], getattr(ordered, name)), (name, rows, options)

    made = flex.BlockMask(seq_lengths=(capacity, capacity), BLOCK_SIZE=block,
                          mask_mod=theirs.mask_mod, **ours)
    assert torch.equal(made.to_dense(), theirs.to_dense())


@pytest.mark.parametrize("pad_mode", ["segment", "masked", "singletons", "merge_last"])
@pytest.mark.parametrize("kind", KINDS)
def test_packed_attention_is_that_of_each_sequence_alone(pad_mode, kind):
    torch.manual_seed(0)
    rows, capacity, heads, size, window = [[5, 1, 7], [16], [3]], 20, 2, 8, 3
    options = ["--mask", kind, "--pad-mode", pad_mode]
    options += ["--window", window] if "window" in kind else []
    if kind == "document" and pad_mode == "merge_last":
        pytest.skip("the last sequence sees the padding there, as documented")
    for dtype in ("bool", "float32"):
        ours, _ = formats(rows, capacity, ["dense_mask"], "--dtype", dtype, *options)
        mask = ours["dense_mask"]
        q, k, v = (torch.randn(len(rows), heads, capacity, size, requires_grad=True)
                   for _ in range(3))
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        out.sum().backward()
        assert all(torch.isfinite(t).all() for t in (out, q.grad, k.grad, v.grad))
        for r, row in enumerate(rows):
            begin = 0
            for length in row:
                part = slice(begin, begin + length)
                i = torch.arange(length)
                near = (i[:, None] - i[None, :])
                alone = {"document": near == near, "causal": near >= 0,
                         "causal_window": (near >= 0) & (near < window),
                         "symmetric_window": near.abs() <= window}[kind]
                if pad_mode == "merge_last" and kind == "symmetric_window" and begin + length == sum(row):
                    break  # it sees the padding, as documented
                wanted = torch.nn.functional.scaled_dot_product_attention(
                    q[r:r + 1, :, part], k[r:r + 1, :, part], v[r:r + 1, :, part], attn_mask=alone)
                torch.testing.assert_close(out[r:r + 1, :, part], wanted)
                begin += length


class CausalDocument:
    """A mask_mod as docs/formats.md has it. A class, so that it can be pickled."""

    def __init__(self, kv_start):
        self.kv_start = kv_start

    def __call__(self, b, h, q, k):
        return (k >= self.kv_start[b, q]) & (k <= q)


def test_compiled_flex_attention_takes_the_tables():
    """Compiled, since the eager path ignores them."""
    flex = pytest.importorskip("torch.nn.attention.flex_attention")
    torch.manual_seed(0)
    rows, capacity = [[200, 100, 84], [300]], 384
    ours, _ = formats(rows, capacity, [*BLOCK_TABLES, "kv_start", "dense_mask"])
    block_mask = flex.BlockMask(seq_lengths=(capacity, capacity), BLOCK_SIZE=(128, 128),
                                mask_mod=CausalDocument(ours["kv_start"]),
                                **{name: ours[name] for name in BLOCK_TABLES})
    q, k, v = (torch.randn(2, 2, capacity, 16) for _ in range(3))
    out = torch.compile(flex.flex_attention)(q, k, v, block_mask=block_mask)
    wanted = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=ours["dense_mask"])
    torch.testing.assert_close(out, wanted, rtol=1e-4, atol=1e-5)


class TestHuggingFace:
    """What its collator and its detection make."""

    rows = [[5, 3], [12], [1, 1]]
    capacity = 12

    @pytest.fixture(autouse=True)
    def library(self):
        self.transformers = pytest.importorskip(
            "transformers", reason="no transformers; scripts/test --torch installs it")

    def trimmed(self):
        return formats(self.rows, self.capacity,
                       ["input_ids", "labels", "position_ids", "seq_idx", "cu_seqlens"],
                       "--pad-mode", "trim")

    def test_collator(self):
        collator = self.transformers.DataCollatorWithFlattening(
            return_flash_attn_kwargs=True, return_seq_idx=True)
        features, next_id = [], 0
        for length in (length for row in self.rows for length in row):
            features.append({"input_ids": list(range(next_id, next_id + length))})
            next_id += length
        theirs = collator(features)
        ours, numbers = self.trimmed()
        for name in ("input_ids", "labels", "position_ids", "seq_idx"):
            assert torch.equal(ours[name], theirs[name]), name
            assert ours[name].dtype == theirs[name].dtype, name
        for name in ("cu_seq_lens_q", "cu_seq_lens_k"):
            assert torch.equal(ours["cu_seqlens"], theirs[name])
            assert ours["cu_seqlens"].dtype == theirs[name].dtype
        assert numbers["max_segment"] == theirs["max_length_q"] == theirs["max_length_k"]

    @pytest.mark.parametrize("pad_mode", ["segment", "singletons"])
    def test_detection_from_positions(self, pad_mode):
        from transformers.masking_utils import find_packed_sequence_indices
        rows = [[5, 3], [12], [1, 9]]
        ours, _ = formats(rows, self.capacity, ["position_ids", "segment_ids"],
                          "--pad-mode", pad_mode)
        assert torch.equal(find_packed_sequence_indices(ours["position_ids"]),
                           ours["segment_ids"].long())

    def model(self, attention):
        torch.manual_seed(0)
        config = self.transformers.LlamaConfig(
            vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
            attn_implementation=attention)
        return self.transformers.LlamaForCausalLM(config).eval()

    def alone(self, model, row):
        """Logits of each sequence of the first row, one after another."""
        logits, begin = [], 0
        for length in row:
            ids = torch.arange(begin, begin + length)[None]
            logits.append(model(input_ids=ids, use_cache=False).logits)
            begin += length
        return torch.cat(logits, dim=1)

    @torch.no_grad()
    def test_model_by_positions(self):
        model = self.model("sdpa")
        row = [5, 3, 9]
        ours, _ = formats([row], 17, ["input_ids", "position_ids"], "--pad-mode", "trim")
        packed = model(input_ids=ours["input_ids"], position_ids=ours["position_ids"],
                       use_cache=False).logits
        torch.testing.assert_close(packed, self.alone(model, row), rtol=1e-4, atol=1e-5)

    @torch.no_grad()
    @pytest.mark.parametrize("attention,options", [
        ("sdpa", ["--dtype", "bool"]), ("eager", ["--dtype", "float32", "--lowest"])])
    def test_model_by_dense_mask(self, attention, options):
        model = self.model(attention)
        row = [5, 3, 9]
        tokens, _ = formats([row], 20, ["input_ids", "position_ids"])
        mask = formats([row], 20, ["dense_mask"], *options)[0]["dense_mask"]
        packed = model(input_ids=tokens["input_ids"], position_ids=tokens["position_ids"],
                       attention_mask=mask, use_cache=True).logits
        torch.testing.assert_close(packed[:, :17], self.alone(model, row), rtol=1e-4, atol=1e-5)
