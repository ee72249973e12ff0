# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The model: real weights, computed by Transformers on the CPU, so that a changed weight gives another answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer


@dataclass(frozen=True)
class Scored:
    """A token with its log-probability, and the likeliest ones at its place."""

    token: int
    logprob: float
    top: tuple[tuple[int, float], ...]


class Model:
    """Loaded once, used by the engine's one thread."""

    def __init__(self, directory: str, tokenizer: str, dtype: str) -> None:
        config = AutoConfig.from_pretrained(directory, local_files_only=True)
        torch_dtype = getattr(config, "dtype", None) or torch.float32 if dtype == "auto" else getattr(torch, dtype)
        self.network: Any = AutoModelForCausalLM.from_pretrained(directory, dtype=torch_dtype, local_files_only=True)
        self.network.eval()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(tokenizer or directory, local_files_only=True)
        self.vocabulary = int(self.network.config.vocab_size)
        eos = self.network.config.eos_token_id
        self.ends = frozenset(eos if isinstance(eos, list) else [eos] if eos is not None else [])

    @torch.inference_mode()
    def forward(self, tokens: Sequence[int], cache: Any) -> tuple[torch.Tensor, Any]:
        """(log-probabilities [tokens, vocabulary], the cache with these tokens)."""
        output = self.network(torch.tensor([list(tokens)]), past_key_values=cache, use_cache=True)
        return torch.log_softmax(output.logits[0].float(), dim=-1), output.past_key_values

    def text(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def word(self, token: int) -> str:
        return str(self.tokenizer.decode([token]))

    def tokens(self, text: str) -> list[int]:
        return [int(token) for token in self.tokenizer(text)["input_ids"]]

    def chat(self, messages: list[dict[str, str]]) -> list[int]:
        """Raises ValueError where the tokenizer has no template."""
        told = self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, tokenize=False)
        return [int(token) for token in self.tokenizer(told, add_special_tokens=False)["input_ids"]]


def score(logprobs: torch.Tensor, token: int, count: int) -> Scored:
    """``token`` at a place with these log-probabilities, with the ``count`` likeliest."""
    values, tokens = torch.topk(logprobs, min(count, logprobs.numel())) if count else (torch.empty(0), torch.empty(0))
    top = tuple((int(one), float(value)) for one, value in zip(tokens.tolist(), values.tolist()))
    return Scored(token, float(logprobs[token]), top)


def choose(logprobs: torch.Tensor, temperature: float, top_p: float, generator: torch.Generator | None) -> int:
    """The next token: the likeliest at temperature 0, otherwise drawn."""
    if temperature <= 0:
        return int(logprobs.argmax())
    shares = torch.softmax(logprobs / temperature, dim=-1)
    if top_p < 1:
        ordered, index = shares.sort(descending=True)
        ordered[ordered.cumsum(0) - ordered >= top_p] = 0
        shares = torch.zeros_like(shares).scatter(0, index, ordered)
    return int(torch.multinomial(shares, 1, generator=generator))
