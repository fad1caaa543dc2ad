"""Packs in the loaders and models that people have: the real packages."""

import itertools
import pickle

import numpy as np
import packhouse
import pytest

torch = pytest.importorskip("torch")

pytest.importorskip("transformers")

from conftest import run_python  # noqa: E402
from packhouse import collate  # noqa: E402
from tiny import (  # noqa: E402
    loss_alone,
    make_items,
    make_model,
    make_tokenizer,
)
from torch.utils.data import DataLoader  # noqa: E402

# ------------------------------------------------------------------ loaders --


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_share_the_items(workers):
    items = make_items(200)
    dataset = packhouse.PackedDataset(items, 64, shard=True, window=16)
    loader = DataLoader(
        dataset,
        batch_size=2,
        num_workers=workers,
        collate_fn=collate.PaddingFree(),
    )
    for _ in range(2):
        seen = []
        for batch in loader:
            assert batch["input_ids"].shape[1] == batch["cu_seq_lens_q"][-1]
            for unit, tokens in batch.unpack(batch["input_ids"]):
                assert len(tokens) == unit.tokens
                seen.append(tuple(tokens.tolist()))
        expected = [tuple(item["input_ids"].tolist()) for item in items]
        assert sorted(seen) == sorted(expected)


def test_workers_without_a_word_on_shards_are_an_error():
    dataset = packhouse.PackedDataset(make_items(9), 64)
    loader = DataLoader(dataset, num_workers=2, collate_fn=list)
    with pytest.raises(RuntimeError, match="shard=True"):
        next(iter(loader))


def test_packs_do_not_collate_by_themselves():
    loader = DataLoader(packhouse.PackedDataset(make_items(9), 64))
    with pytest.raises(TypeError, match="Pack"):
        next(iter(loader))


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_loader_resumes_exactly(workers):
    torchdata = pytest.importorskip("torchdata.stateful_dataloader")
    items = make_items(300)

    def make():
        dataset = packhouse.PackedDataset(items, 64, shard=True, window=16)
        return torchdata.StatefulDataLoader(
            dataset,
            batch_size=2,
            num_workers=workers,
            collate_fn=collate.PaddingFree(),
        )

    def values(batches):
        return [batch["input_ids"].tolist() for batch in batches]

    whole = values(make())
    for cut in (0, 1, 7, len(whole) - 1):
        first = make()
        reader = iter(first)
        seen = values(next(reader) for _ in range(cut))
        state = pickle.loads(pickle.dumps(first.state_dict()))
        second = make()
        second.load_state_dict(state)
        assert seen + values(second) == whole


def test_batches_survive_pickling_and_devices():
    dataset = packhouse.PackedDataset(make_items(20), 64)
    for collator in (collate.PaddingFree(), collate.FlexAttention()):
        batch = collator(list(dataset)[:2])
        other = pickle.loads(pickle.dumps(batch))
        assert other.units == batch.units
        assert other.keys() == batch.keys()
        moved = batch.to("meta")
        assert moved["input_ids"].device.type == "meta"
        assert moved.units == batch.units
    assert moved["attention_mask"].kv_indices.device.type == "meta"
    assert moved["attention_mask"].mask_mod.kv_start.device.type == "meta"
    with pytest.raises(ValueError, match="of 3 tokens"):
        list(batch.unpack(np.zeros((1, 3))))
    with pytest.raises(TypeError, match="not dict"):
        collate.PaddingFree()([{"input_ids": [1]}])


def test_pinning_keeps_the_batch(monkeypatch):
    """As a loader does it; here without the device that it is for."""
    from torch.utils.data._utils.pin_memory import pin_memory

    monkeypatch.setattr(torch.Tensor, "pin_memory", torch.Tensor.clone)
    batch = collate.PaddingFree()(list(packhouse.PackedDataset([[1, 2]], 4)))
    pinned = pin_memory(batch)
    assert type(pinned) is collate.Batch
    assert pinned.units == batch.units
    assert pinned["input_ids"] is not batch["input_ids"]
    assert pinned["input_ids"].tolist() == [[1, 2]]


@pytest.mark.parametrize(
    "order",
    [
        ["torch", "grpc", "packhouse"],
        ["packhouse", "grpc", "torch"],
        ["grpc", "packhouse", "torch"],
    ],
)
def test_it_gets_along_with_others_in_one_process(order):
    pytest.importorskip("grpc")
    code = (
        f"import {', '.join(order)}\n"
        "import packhouse.remote, packhouse._messages\n"
        "grpc.insecure_channel('unix:/none').close()\n"
        "print(len(packhouse.plan([5, 3, 8], 10)), torch.ones(2).sum())"
    )
    assert run_python(code) == "2 tensor(2.)"


def test_tensors_stay_tensors():
    items = [torch.arange(n) for n in (3, 4, 2)]
    (pack,) = packhouse.PackedDataset(items, 9)
    assert isinstance(pack.columns["input_ids"], torch.Tensor)
    batch = collate.PaddingFree()([pack])
    assert batch["input_ids"].tolist() == [[0, 1, 2, 0, 1, 2, 3, 0, 1]]


# ------------------------------------------------------------------- models --


@pytest.mark.parametrize(
    ("attention", "collator"),
    [
        ("sdpa", collate.PaddingFree()),
        ("eager", collate.PaddingFree(multiple=16)),
        ("sdpa", collate.Rows()),
        ("eager", collate.Rows(attention="eager")),
        ("flex_attention", collate.FlexAttention(block_size=(16, 16))),
    ],
)
def test_a_packed_batch_has_the_loss_of_its_sequences(attention, collator):
    packs = list(packhouse.PackedDataset(make_items(12), 64))
    assert len(packs) > 1
    batch = collator(packs)
    with torch.no_grad():
        packed = make_model(attention)(**batch).loss.item()
        alone = loss_alone(make_model(), batch).item()
    assert packed == pytest.approx(alone, abs=2e-5)


def test_trainer(tmp_path):
    transformers = pytest.importorskip("transformers")
    pytest.importorskip("accelerate")
    items = make_items(120)
    dataset = packhouse.PackedDataset(items, 64, shard=True)
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        max_steps=4,
        per_device_train_batch_size=2,
        dataloader_num_workers=2,
        remove_unused_columns=False,
        accelerator_config={"dispatch_batches": False},
        report_to=[],
        use_cpu=True,
        logging_steps=1,
        learning_rate=1e-2,
        lr_scheduler_type="constant",
    )
    trainer = transformers.Trainer(
        model=make_model(),
        args=arguments,
        train_dataset=dataset,
        data_collator=collate.PaddingFree(),
    )
    trainer.train()
    losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
    assert len(losses) == 4

    # The same steps by hand, each sequence alone.
    model = make_model().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    loader = DataLoader(
        dataset,
        batch_size=2,
        num_workers=2,
        collate_fn=collate.PaddingFree(),
    )
    for logged, batch in zip(losses, loader, strict=False):
        loss = loss_alone(model, batch)
        assert loss.item() == pytest.approx(logged, abs=2e-3)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def test_accelerate_does_not_slice_batches():
    accelerate = pytest.importorskip("accelerate")
    configuration = accelerate.DataLoaderConfiguration(dispatch_batches=False)
    accelerator = accelerate.Accelerator(
        cpu=True, dataloader_config=configuration
    )
    dataset = packhouse.PackedDataset(make_items(60), 64)
    loader = accelerator.prepare(
        DataLoader(dataset, batch_size=2, collate_fn=collate.PaddingFree())
    )
    for batch in loader:
        assert batch["cu_seq_lens_q"][-1] == batch["input_ids"].shape[1]


def test_batches_that_accelerate_would_cut_are_an_error():
    accelerate = pytest.importorskip("accelerate")
    dataset = packhouse.PackedDataset(make_items(60), 64)
    for collator in (collate.PaddingFree(), collate.TransformerEngine()):
        loader = accelerate.Accelerator(cpu=True).prepare(
            DataLoader(dataset, batch_size=2, collate_fn=collator)
        )
        with pytest.raises(ValueError, match="dispatch_batches=False"):
            next(iter(loader))


def test_trl(tmp_path):
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    packs = list(packhouse.PackedDataset(make_items(40), 64))
    rows = datasets.Dataset.from_list([collate.trl_row(p) for p in packs])
    trainer = trl.SFTTrainer(
        model=make_model(),
        args=trl.SFTConfig(
            output_dir=str(tmp_path),
            max_steps=2,
            per_device_train_batch_size=2,
            packing=False,
            padding_free=True,
            max_length=None,
            dataset_kwargs={"skip_prepare_dataset": True},
            report_to=[],
            use_cpu=True,
            bf16=False,
            logging_steps=1,
        ),
        train_dataset=rows,
        processing_class=make_tokenizer(),
    )
    batch = next(iter(trainer.get_train_dataloader()))
    with torch.no_grad():
        packed = trainer.model(**batch).loss.item()
    ends = batch["cu_seq_lens_q"].tolist()
    units = [
        collate.Unit(i, 0, end - begin, begin)
        for i, (begin, end) in enumerate(itertools.pairwise(ends))
    ]
    assert len(units) > 2
    with torch.no_grad():
        whole = collate.Batch(batch, units=units)
        alone = loss_alone(make_model(), whole).item()
    assert packed == pytest.approx(alone, abs=2e-5)
    trainer.train()
