# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a card's memory keeps what is written into it: patterns over as much of it as is asked for."""

from __future__ import annotations

import torch

_CHUNK = 1 << 28
# Every bit is once set and once not, beside neighbors of both kinds.
_PATTERNS = (0x55555555, 0x2AAAAAAA, 0x00000000, 0x7FFFFFFF)


def wrong_words(device: torch.device, size: int) -> int:
    """How many words of 4 bytes, of ``size`` bytes, were not what was written; all are filled before one is read."""
    chunks = [
        torch.empty(min(_CHUNK, size - start) // 4, dtype=torch.int32, device=device)
        for start in range(0, size, _CHUNK)
    ]
    wrong = 0
    for pattern in _PATTERNS:
        for chunk in chunks:
            chunk.fill_(pattern)
        wrong += sum(int((chunk != pattern).sum().cpu()) for chunk in chunks)
    return wrong
