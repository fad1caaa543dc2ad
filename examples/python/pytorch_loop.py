"""A plain PyTorch loop over packs, saved in the middle and resumed.

Needs torch, transformers and torchdata.
"""

import packhouse
import torch
from packhouse import collate
from tiny import loss_alone, make_items, make_model
from torchdata.stateful_dataloader import StatefulDataLoader


def make_loader():
    """Four workers' worth of code is the same as two's."""
    dataset = packhouse.PackedDataset(make_items(200), 64, shard=True)
    return StatefulDataLoader(
        dataset,
        batch_size=2,
        num_workers=2,
        collate_fn=collate.PaddingFree(),
    )


def train(model, batches, steps):
    """The losses of some steps, each checked against unpacked sequences."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _, batch in zip(range(steps), batches, strict=False):
        alone = loss_alone(model, batch).item()
        loss = model(**batch).loss
        assert abs(loss.item() - alone) < 1e-4, (loss.item(), alone)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return losses


def main():
    """Trains six steps at once, then three and three from a saved state."""
    at_once = train(make_model(), iter(make_loader()), 6)
    print("losses:", " ".join(f"{loss:.4f}" for loss in at_once))

    loader = make_loader()
    batches = iter(loader)
    first = [next(batches)["input_ids"] for _ in range(3)]
    state = loader.state_dict()  # torch.save puts it into a checkpoint
    resumed = make_loader()
    resumed.load_state_dict(state)
    rest = [batch["input_ids"] for batch in resumed]
    whole = [batch["input_ids"] for batch in make_loader()]
    assert all(map(torch.equal, first + rest, whole))
    print(f"resumed after 3 of {len(whole)} batches: the same packs")


if __name__ == "__main__":
    main()
