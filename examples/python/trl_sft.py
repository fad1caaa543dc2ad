"""TRL's SFTTrainer on rows that were packed before.

Needs torch, transformers, datasets and trl.
"""

import tempfile

import datasets
import packhouse
import trl
from packhouse import collate
from tiny import make_items, make_model, make_tokenizer


def main():
    """Packs as well as can be, then trains two steps."""
    items = make_items(60)
    packed = packhouse.PlannedDataset(items, 64, algorithm="best")
    rows = datasets.Dataset.from_list(
        [collate.trl_row(packed[i]) for i in range(len(packed))]
    )
    with tempfile.TemporaryDirectory() as folder:
        trainer = trl.SFTTrainer(
            model=make_model(),
            args=trl.SFTConfig(
                output_dir=folder,
                max_steps=2,
                per_device_train_batch_size=2,
                packing=False,  # they are
                padding_free=True,
                max_length=None,
                dataset_kwargs={"skip_prepare_dataset": True},
                logging_steps=1,
                report_to=[],
                use_cpu=True,
                bf16=False,
            ),
            train_dataset=rows,
            processing_class=make_tokenizer(),
        )
        batch = next(iter(trainer.get_train_dataloader()))
        assert len(batch["cu_seq_lens_q"]) > 3  # boundaries arrived
        trainer.train()
    losses = [log["loss"] for log in trainer.state.log_history if "loss" in log]
    print(f"{len(packed)} rows of {len(items)} sequences, losses: {losses}")


if __name__ == "__main__":
    main()
