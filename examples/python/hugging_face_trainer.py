"""Hugging Face's Trainer on packs, without padding.

Needs torch, transformers and accelerate.
"""

import tempfile

import packhouse
import transformers
from packhouse import collate
from tiny import loss_alone, make_items, make_model


def main():
    """Trains four steps; the first loss is that of the sequences alone."""
    dataset = packhouse.PackedDataset(make_items(120), 64, shard=True)
    with tempfile.TemporaryDirectory() as folder:
        trainer = transformers.Trainer(
            model=make_model(),
            args=transformers.TrainingArguments(
                output_dir=folder,
                max_steps=4,
                per_device_train_batch_size=2,  # packs
                dataloader_num_workers=2,
                # Batches are whole as they are: they are not to be sliced, and
                # all of their columns are for the model.
                accelerator_config={"dispatch_batches": False},
                remove_unused_columns=False,
                logging_steps=1,
                report_to=[],
                use_cpu=True,
            ),
            train_dataset=dataset,
            data_collator=collate.PaddingFree(),
        )
        trainer.train()
    losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
    batch = collate.PaddingFree()(list(dataset)[:2])
    model = make_model()
    packed, alone = model(**batch).loss.item(), loss_alone(model, batch).item()
    assert abs(packed - alone) < 1e-4, (packed, alone)
    print("losses:", losses, "packed and alone:", packed, alone)


if __name__ == "__main__":
    main()
