# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the trained model answers to a few windows of tokens, so that a server can be asked the same.

The windows are those of the comparison, and their beginnings: a server computes windows of other lengths in other ways,
and one with a short context still has some that it can be asked.
"""

from __future__ import annotations

from typing import Any

import torch

TOP = 5
"""Tokens per window: the most that every server with OpenAI's interface returns."""
DECIMALS = 4
SHARES = (4, 2, 1)


def answers_of(windows: torch.Tensor, logits: torch.Tensor) -> dict[str, Any]:
    """For the record. ``logits`` are those of ``windows``, [windows, length, vocabulary].

    ``top`` has the tokens that may come next with the natural logarithm of their probability, the likeliest first.
    """
    ends = sorted({max(1, windows.shape[1] // share) for share in SHARES})
    rows = [_answer(window[:end], row[end - 1]) for window, row in zip(windows, logits) for end in ends]
    return {"decimals": DECIMALS, "windows": rows}


def _answer(tokens: torch.Tensor, logits: torch.Tensor) -> dict[str, Any]:
    logarithms = torch.log_softmax(logits.double(), dim=-1)
    found = torch.topk(logarithms, min(TOP, logarithms.shape[0]))
    top = [[token, round(value, DECIMALS)] for value, token in zip(found.values.tolist(), found.indices.tolist())]
    return {"tokens": tokens.tolist(), "top": top}
