"""A training step in plain JAX on packed rows: MaxText's keys.

Needs jax. One attention layer; the loss of a packed batch is that of its
sequences alone.
"""

import jax
import jax.numpy as jnp
import numpy as np
import packhouse
from packhouse import collate

VOCABULARY, WIDTH, ROW = 64, 16, 48


def make_parameters():
    """Numbers that are the same each time."""
    keys = jax.random.split(jax.random.PRNGKey(0), 4)
    return {
        "tokens": jax.random.normal(keys[0], (VOCABULARY, WIDTH)) * 0.1,
        "positions": jax.random.normal(keys[1], (ROW, WIDTH)) * 0.1,
        "qkv": jax.random.normal(keys[2], (WIDTH, 3 * WIDTH)) * 0.3,
        "out": jax.random.normal(keys[3], (WIDTH, VOCABULARY)) * 0.3,
    }


def loss_of(parameters, batch):
    """The mean cross-entropy of all targets."""
    ids = batch["inputs_segmentation"]
    x = parameters["tokens"][batch["inputs"]]
    x = x + parameters["positions"][batch["inputs_position"]]
    q, k, v = jnp.split(x @ parameters["qkv"], 3, axis=-1)
    causal = jnp.tril(jnp.ones((ids.shape[1], ids.shape[1]), bool))
    mask = (ids[:, :, None] == ids[:, None, :]) & causal
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(WIDTH)
    weights = jax.nn.softmax(jnp.where(mask, scores, -1e9), axis=-1)
    logits = jax.nn.log_softmax((x + weights @ v) @ parameters["out"])
    chosen = jnp.take_along_axis(logits, batch["targets"][..., None], -1)
    learned = batch["targets_segmentation"] != 0
    return -(chosen[..., 0] * learned).sum() / learned.sum()


def batches_of(items):
    """Batches of three packs."""
    packs = list(packhouse.PackedDataset(items, ROW))
    collator = collate.MaxText()
    for i in range(0, len(packs), 3):
        yield collator(packs[i : i + 3])


def main():
    """Checks a batch against its sequences, then trains."""
    random = np.random.default_rng(1)
    items = [
        random.integers(0, VOCABULARY, n) for n in random.integers(2, 40, 60)
    ]
    parameters = make_parameters()
    batch = next(batches_of(items))
    packed = float(loss_of(parameters, dict(batch)))
    total, count = 0.0, 0
    for unit in batch.units:
        (alone,) = batches_of([items[unit.ordinal]])
        total += float(loss_of(parameters, dict(alone))) * (unit.tokens - 1)
        count += unit.tokens - 1
    assert abs(packed - total / count) < 1e-4, (packed, total / count)

    step = jax.jit(jax.value_and_grad(loss_of))
    losses = []
    for _ in range(30):  # epochs
        of_epoch = []
        for batch in batches_of(items):
            loss, gradients = step(parameters, dict(batch))
            parameters = jax.tree.map(
                lambda value, slope: value - 0.5 * slope, parameters, gradients
            )
            of_epoch.append(float(loss))
        losses.append(sum(of_epoch) / len(of_epoch))
    assert losses[-1] < losses[0]
    print(f"packed {packed:.4f}, alone {total / count:.4f}; ", end="")
    print(f"from {losses[0]:.3f} to {losses[-1]:.3f} in {len(losses)} epochs")


if __name__ == "__main__":
    main()
