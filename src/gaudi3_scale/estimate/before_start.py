# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A training that cannot fit is refused before its model is built: by weights, gradients and optimizer state alone."""

from __future__ import annotations

import argparse
import os

import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.estimate.model_state import on_no_device, state_of
from gaudi3_scale.estimate.refusal import Planned, named, too_large
from gaudi3_scale.metrics.peak_memory import device_memory
from gaudi3_scale.ranks import Ranks


def require_room(options: argparse.Namespace, vocabulary: int, ranks: Ranks, device: torch.device) -> None:
    """Raises GaudiError, with the arithmetic, where the state of the model alone is more than the rank's memory."""
    try:
        described = on_no_device(options, vocabulary)
    # What cannot be made without memory may still be made with it; if not, the trainer says why.
    except Exception:
        return
    name, state = named(options.model, described.module), state_of(described.module)
    memory = memory_of_rank(ranks, device)
    refusal = too_large(Planned(name, state, ranks.world_size, options.sharding, memory))
    if refusal:
        raise GaudiError(refusal)


def memory_of_rank(ranks: Ranks, device: torch.device) -> int:
    """Of its card; on the CPU its share of the host's."""
    memory = device_memory(device)
    if memory is not None and memory.limit:
        return memory.limit
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // ranks.local_world_size
