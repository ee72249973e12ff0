# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""HCCL's place, taken by gloo; registered as the bridge registers HCCL, but for CPU tensors as well."""

from __future__ import annotations

import os
from datetime import timedelta

import torch.distributed as distributed

REPORTED: list[tuple[int, int, int]] = []
"""World size, rank and local rank, each time that a launcher told them."""


def initialize_distributed_hpu(
    world_size: int | None = None, rank: int | None = None, local_rank: int | None = None
) -> tuple[int, int, int]:
    if world_size is not None and rank is not None and local_rank is not None:
        os.environ.update(WORLD_SIZE=str(world_size), RANK=str(rank), LOCAL_RANK=str(local_rank))
        REPORTED.append((world_size, rank, local_rank))
    return (
        int(os.environ.get("WORLD_SIZE", 1)),
        int(os.environ.get("RANK", -1)),
        int(os.environ.get("LOCAL_RANK", -1)),
    )


def _create(store: distributed.Store, rank: int, size: int, timeout: timedelta) -> object:
    return distributed.ProcessGroupGloo(store, rank, size, timeout)


distributed.Backend.register_backend("hccl", _create, devices=["hpu", "cpu"])
