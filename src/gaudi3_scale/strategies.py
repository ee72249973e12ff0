# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The arguments of Lightning's Trainer that depend on the device, and checkpoints on every node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.environments import ClusterEnvironment, LightningEnvironment, TorchElasticEnvironment
from lightning.pytorch.plugins import MixedPrecision, Precision
from lightning.pytorch.strategies import DDPStrategy

from gaudi3_scale.accelerator import GaudiAccelerator
from gaudi3_scale.checkpoints import WholeFileIO
from gaudi3_scale.hpu_strategies import GaudiDDPStrategy
from gaudi3_scale.ranks import Ranks


class NodeDDPStrategy(DDPStrategy):
    """Data parallel, and a full checkpoint on every node instead of on the first one alone."""

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: str | Path, storage_options: object = None) -> None:
        if self.local_rank == 0:
            self.checkpoint_io.save_checkpoint(checkpoint, filepath, storage_options=storage_options)


class NodeGaudiDDPStrategy(NodeDDPStrategy, GaudiDDPStrategy):
    """The same on Gaudi."""


def trainer_parts(device: torch.device, precision: str, ranks: Ranks) -> dict[str, Any]:
    """The arguments of Lightning's Trainer that depend on the device; ``precision`` is bf16 or fp32.

    The process group has to exist (:func:`gaudi3_scale.ranks.join`).
    """
    is_hpu = device.type == "hpu"
    environment: ClusterEnvironment = TorchElasticEnvironment() if ranks.launched else LightningEnvironment()
    mixed = {"bf16": MixedPrecision("bf16-mixed", device.type), "fp32": Precision()}
    return {
        "accelerator": GaudiAccelerator() if is_hpu else device.type,
        "devices": ranks.local_world_size,
        "num_nodes": ranks.nodes,
        "strategy": (NodeGaudiDDPStrategy if is_hpu else NodeDDPStrategy)(gradient_as_bucket_view=True),
        "plugins": [environment, WholeFileIO(), mixed[precision]],
        "use_distributed_sampler": False,
    }
