# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A small causal transformer: the built-in model, for training and for probing alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from gaudi3_scale.core._errors import GaudiError

BYTE_VOCABULARY = 256


@dataclass(frozen=True)
class ModelShape:
    """What a checkpoint's weights fit to. ``width`` is the number of channels, shared out among ``heads``."""

    layers: int = 4
    width: int = 256
    heads: int = 4
    sequence_length: int = 256
    vocabulary: int = BYTE_VOCABULARY

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise GaudiError(f"width {self.width} is not a multiple of heads {self.heads}; change one of them.")


class Block(nn.Module):
    """Attention to what came before, then a two-layer perceptron, each on normalized input and added to it."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.attention_norm = nn.LayerNorm(shape.width)
        self.query_key_value = nn.Linear(shape.width, 3 * shape.width)
        self.attention_out = nn.Linear(shape.width, shape.width)
        self.perceptron_norm = nn.LayerNorm(shape.width)
        self.perceptron = nn.Sequential(
            nn.Linear(shape.width, 4 * shape.width), nn.GELU(), nn.Linear(4 * shape.width, shape.width)
        )

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        """[batch, length, width] to the same shape."""
        split = self.query_key_value(self.attention_norm(hidden)).unflatten(-1, (3, self.heads, -1))
        query, key, value = split.permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.attention_out(attended.transpose(1, 2).flatten(-2))
        out: torch.Tensor = hidden + self.perceptron(self.perceptron_norm(hidden))
        return out


class LanguageModel(nn.Module):
    """Predicts the next token at each place of a window of at most ``shape.sequence_length`` tokens.

    With ``checkpointing`` a block keeps only its input, and computes the rest once more on the way back.
    """

    def __init__(self, shape: ModelShape, checkpointing: bool = False) -> None:
        super().__init__()
        self.checkpointing = checkpointing
        self.tokens = nn.Embedding(shape.vocabulary, shape.width)
        self.places = nn.Embedding(shape.sequence_length, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _layer in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        # Without a bias, as GPT-2's: a model that serving software knows can have these weights (export/built_in.py).
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        self.apply(_initialize)
        # The sum over all layers keeps its size when each addition starts smaller (Radford et al. 2019, GPT-2).
        block: Any
        for block in self.blocks:
            for last in (block.attention_out, block.perceptron[-1]):
                nn.init.normal_(last.weight, std=0.02 / (2 * shape.layers) ** 0.5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """int64 [batch, length] to logits [batch, length, vocabulary]."""
        hidden = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            if self.checkpointing and torch.is_grad_enabled():
                hidden = checkpoint(block, hidden, use_reentrant=False)
            else:
                hidden = block(hidden)
        logits: torch.Tensor = self.head(self.norm(hidden))
        return logits


def next_token_loss(model: nn.Module, windows: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy in nats of every token after the first; ``windows`` is int64 [batch, length + 1].

    Hugging Face's models put out an object with the logits, PyTorch's the logits.
    """
    output = model(windows[:, :-1])
    logits = getattr(output, "logits", output)
    return functional.cross_entropy(logits.flatten(0, 1).float(), windows[:, 1:].flatten())


def _initialize(module: nn.Module) -> None:
    if isinstance(module, (nn.Linear, nn.Embedding)):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear) and module.bias is not None:
        nn.init.zeros_(module.bias)
