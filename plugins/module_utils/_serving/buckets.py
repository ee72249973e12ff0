# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The shapes for which graphs are compiled before the first request, cut to the lengths that are asked for.

The engine compiles a graph for each bucket at its start. What is longer than an instance answers needs none, and what
is padded by a quarter at most shares one. Rules: vllm_gaudi/extension/bucketing/padding_aware.py, which reads these
variables where VLLM_BUCKETING_STRATEGY is pad.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .flags import BUCKET, FROM_FILE, PADDED, STRATEGY

BLOCK = 128
PAD_PERCENT = 25
MOST_PERCENT = 50
BATCHED_TOKENS = 2048


@dataclass(frozen=True)
class Dimension:
    """One side of the buckets, from ``least`` by ``step`` to ``most``; ``percent`` and ``pad_max`` limit padding."""

    least: int
    step: int
    most: int
    pad_max: int
    percent: int = PAD_PERCENT

    def sizes(self) -> tuple[int, ...]:
        """Doubled up to the step, then by steps; one is left out where the next one pads little enough."""
        found = [self.least]
        at = self.least
        while at <= self.most:
            if at <= self.step:
                following = found[-1] * 2 or 1
                if following <= self.most:
                    found.append(following)
            else:
                following = at + self.step
                padding = following - found[-1] - 1
                is_kept = (
                    padding * 100 > self.percent * following
                    or padding > self.pad_max
                    or (self.pad_max and at % self.pad_max == 0)
                )
                if is_kept and at != found[-1]:
                    found.append(at)
            at = following
        return tuple(found) if found[-1] == self.most else (*found, self.most)


@dataclass(frozen=True)
class Buckets:
    """By the names that the variables have."""

    prompt_query: Dimension
    prompt_ctx: Dimension
    decode_bs: Dimension
    decode_block: Dimension

    def variables(self) -> dict[str, str]:
        """What the engine is told."""
        found = {STRATEGY: PADDED}
        for name in ("prompt_query", "prompt_ctx", "decode_bs", "decode_block"):
            one: Dimension = getattr(self, name)
            parts = {
                "MIN": one.least,
                "STEP": one.step,
                "MAX": one.most,
                "PAD_MAX": one.pad_max,
                "PAD_PERCENT": one.percent,
            }
            found.update({f"VLLM_{name.upper()}_BUCKET_{part}": str(value) for part, value in parts.items()})
        return found

    def graphs(self, max_model_len: int) -> int:
        """About how many graphs: a prompt's tokens and its context are together no longer than a sequence."""
        contexts = self.prompt_ctx.sizes()
        prompts = sum(
            max(1, sum(1 for context in contexts if query + context * BLOCK <= max_model_len))
            for query in self.prompt_query.sizes()
        )
        blocks = self.decode_block.sizes()
        decodes = sum(sum(1 for one in blocks if one >= batch) for batch in self.decode_bs.sizes())
        return prompts + decodes


def buckets_for(max_model_len: int, max_num_seqs: int, batched_tokens: int) -> Buckets:
    """Those of an instance that answers no longer sequences and no more at once."""
    blocks = math.ceil(max_model_len / BLOCK)
    longest = min(max(batched_tokens, BLOCK), blocks * BLOCK)
    in_decode = max(BLOCK, blocks * max_num_seqs)
    return Buckets(
        Dimension(BLOCK, BLOCK, longest, math.ceil(longest / 4)),
        Dimension(0, 2, max(0, blocks - 1), max(1, math.ceil(longest / BLOCK))),
        Dimension(1, 2, max_num_seqs, math.ceil(max_num_seqs / 4)),
        Dimension(BLOCK, BLOCK, in_decode, math.ceil(in_decode / 4)),
    )


def are_given(environment: Mapping[str, str]) -> bool:
    """Whether the operator has chosen the buckets, so that ours are left out."""
    return any(name in (STRATEGY, FROM_FILE) or BUCKET.fullmatch(name) for name in environment)
