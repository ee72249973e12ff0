# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How long bytes take from each rank to the next: what tells a slow link from a slow network."""

from __future__ import annotations

import time

import torch
import torch.distributed

from gaudi3_scale.core._profile.records import Link
from gaudi3_scale.devices import synchronize

BYTES, TURNS = 4 << 20, 6


def measure_links(device: torch.device) -> tuple[Link, ...]:
    """What this rank gets from the one before it. Collective: every rank calls it, all of them at the same step."""
    world, rank = torch.distributed.get_world_size(), torch.distributed.get_rank()
    if world < 2:
        return ()
    previous = (rank - 1) % world
    mine = torch.zeros(BYTES, dtype=torch.uint8, device=device)
    seconds = [_turn(mine, torch.empty_like(mine), previous, (rank + 1) % world) for _turn_number in range(1 + TURNS)]
    # The first one connects.
    return (Link(previous, min(seconds[1:])),)


def _turn(mine: torch.Tensor, theirs: torch.Tensor, previous: int, following: int) -> float:
    torch.distributed.barrier()
    synchronize(mine.device)
    begun = time.perf_counter()
    given = torch.distributed.isend(mine, following)
    taken = torch.distributed.irecv(theirs, previous)
    if taken is not None:
        taken.wait()
    synchronize(mine.device)
    seconds = time.perf_counter() - begun
    if given is not None:
        given.wait()
    return seconds
