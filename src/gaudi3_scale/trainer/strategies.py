# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of Lightning's Trainer that depend on the device and the sharding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from lightning.fabric.plugins.environments import ClusterEnvironment, LightningEnvironment, TorchElasticEnvironment
from lightning.pytorch.plugins import MixedPrecision, Precision
from lightning.pytorch.strategies import Strategy

from gaudi3_scale.gaudi.accelerator import GaudiAccelerator
from gaudi3_scale.gaudi.strategies import AccumulatingStrategy, GaudiDDPStrategy, GaudiFSDP2Strategy, HookedDDPStrategy
from gaudi3_scale.models.sharding import DDP, FSDP2
from gaudi3_scale.ranks import Ranks
from gaudi3_scale.trainer.gradient_compression import communication_hook


@dataclass(frozen=True)
class DataParallel:
    """``compression`` of gradients is none, fp16, bf16 or powersgd.

    ``static_graph``: each step uses the same parameters in the same order, which DDP then need not look for.
    """

    compression: str = "none"
    static_graph: bool = False


def trainer_parts(
    device: torch.device,
    precision: str,
    ranks: Ranks,
    sharding: str = DDP,
    parallel: DataParallel | None = None,
) -> dict[str, Any]:
    """The arguments of Lightning's Trainer that depend on the device; ``precision`` is bf16 or fp32.

    ``sharding`` is ddp or fsdp2, ``parallel`` is what DDP is told besides.
    The process group has to exist (:func:`gaudi3_scale.ranks.join`).
    """
    is_hpu = device.type == "hpu"
    environment: ClusterEnvironment = TorchElasticEnvironment() if ranks.launched else LightningEnvironment()
    mixed = {"bf16": MixedPrecision("bf16-mixed", device.type), "fp32": Precision()}
    return {
        "accelerator": GaudiAccelerator() if is_hpu else device.type,
        "devices": ranks.local_world_size,
        "num_nodes": ranks.nodes,
        "strategy": _strategy(is_hpu, ranks, sharding, parallel or DataParallel()),
        "plugins": [environment, mixed[precision]],
        "use_distributed_sampler": False,
    }


def _strategy(is_hpu: bool, ranks: Ranks, sharding: str, parallel: DataParallel) -> Strategy:
    if sharding == FSDP2:
        sizes: dict[str, Any] = {"data_parallel_size": ranks.world_size, "tensor_parallel_size": 1}
        fsdp2 = GaudiFSDP2Strategy if is_hpu else AccumulatingStrategy
        return fsdp2(**sizes)
    data_parallel = GaudiDDPStrategy if is_hpu else HookedDDPStrategy
    return data_parallel(
        gradient_as_bucket_view=True,
        static_graph=parallel.static_graph,
        **communication_hook(parallel.compression),
    )
