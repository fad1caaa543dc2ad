"""A tiny model and sequences for the examples: nothing is downloaded."""

import numpy as np
import tokenizers
import torch
import transformers

VOCABULARY = 97


def make_items(count, seed=3, most=40):
    """Sequences of 2 to `most` tokens, a fifth of whose labels are ignored."""
    random = np.random.default_rng(seed)
    items = []
    for length in random.integers(2, most + 1, count):
        tokens = random.integers(1, VOCABULARY, length)
        labels = np.where(random.random(length) < 0.2, -100, tokens)
        items.append({"input_ids": tokens, "labels": labels})
    return items


def make_model(attention="sdpa"):
    """A Llama of two layers, the same each time."""
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            attn_implementation=attention,
        )
    )


def make_tokenizer():
    """A tokenizer that knows its padding token: items are tokens already."""
    words = {str(i): i for i in range(VOCABULARY)}
    model = tokenizers.models.WordLevel(words, unk_token="0")
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(model),
        pad_token="0",
        eos_token="1",
    )


def loss_alone(model, batch):
    """The loss of a packed batch, computed with each sequence by itself."""
    losses, count = [], 0
    tokens = batch.unpack(batch["input_ids"])
    labels = batch.unpack(batch["labels"])
    for (_, ids), (_, targets) in zip(tokens, labels, strict=True):
        logits = model(input_ids=ids[None], use_cache=False).logits[0, :-1]
        losses.append(
            torch.nn.functional.cross_entropy(
                logits, targets[1:], reduction="sum", ignore_index=-100
            )
        )
        count += int((targets[1:] != -100).sum())
    return torch.stack(losses).sum() / count
