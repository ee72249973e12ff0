# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether batches go to the card from page-locked memory: on CUDA always, on Gaudi where it is measured to be faster.

The vendor's own tests of the bridge pin for ``hpu``; nothing published says what that gains. Never run on a card.
"""

from __future__ import annotations

import time

import torch

from gaudi3_scale.devices import synchronize
from gaudi3_scale.json_lines import WriteLine

COPIES, LEAST_GAIN = 20, 0.05


def measured_pinning(batch: torch.Tensor, device: torch.device, write: WriteLine) -> bool:
    """Copies ``batch`` to ``device`` both ways, on Gaudi alone, and writes what it took."""
    if device.type != "hpu":
        return device.type == "cuda"
    try:
        pinned = batch.pin_memory(device.type)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        write("pinned_memory", used=False, message=str(error).partition("\n")[0])
        return False
    pageable_s, pinned_s = seconds_of(batch, device), seconds_of(pinned, device)
    used = pinned_s < (1 - LEAST_GAIN) * pageable_s
    write("pinned_memory", used=used, pageable_us=round(pageable_s * 1e6, 1), pinned_us=round(pinned_s * 1e6, 1))
    return used


def seconds_of(batch: torch.Tensor, device: torch.device) -> float:
    """Of the fastest copy, which nothing disturbed."""
    found = []
    for _turn in range(1 + COPIES):
        synchronize(device)
        begun = time.perf_counter()
        batch.to(device, copy=True)
        synchronize(device)
        found.append(time.perf_counter() - begun)
    return min(found[1:])
