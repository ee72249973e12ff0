# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Lightning's view of the device: accelerator, distributed strategy and precision.

Lightning 2.6 knows ``cuda`` and ``cpu`` itself. The parts for Gaudi are here, since the separate lightning-habana
ended in 2024. They follow docs.habana.ai and have never run on a card.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins.environments import ClusterEnvironment, LightningEnvironment, TorchElasticEnvironment
from lightning.pytorch.accelerators import Accelerator
from lightning.pytorch.plugins import MixedPrecision, Precision
from lightning.pytorch.strategies import DDPStrategy

from gaudi3_scale.checkpoints import WholeFileIO
from gaudi3_scale.ranks import Ranks


class NodeDDPStrategy(DDPStrategy):
    """Data parallel, and a full checkpoint on every node instead of on the first one alone."""

    def save_checkpoint(self, checkpoint: dict[str, Any], filepath: str | Path, storage_options: object = None) -> None:
        if self.local_rank == 0:
            self.checkpoint_io.save_checkpoint(checkpoint, filepath, storage_options=storage_options)


class HPUAccelerator(Accelerator):
    """One Gaudi card a process; which one, the bridge knows from torchrun's environment."""

    @staticmethod
    def name() -> str:
        return "hpu"

    @staticmethod
    def is_available() -> bool:
        return importlib.import_module("habana_frameworks.torch.hpu").is_available()

    @staticmethod
    def auto_device_count() -> int:
        return importlib.import_module("habana_frameworks.torch.hpu").device_count()

    @staticmethod
    def parse_devices(devices: Any) -> int:
        return int(devices)

    @staticmethod
    def get_parallel_devices(devices: int) -> list[torch.device]:
        return [torch.device("hpu")] * devices

    def setup_device(self, device: torch.device) -> None:
        """Nothing: the bridge opens the card at its first use."""

    def teardown(self) -> None:
        """Nothing: the card is given back when the process ends."""


class HPUDDPStrategy(NodeDDPStrategy):
    """Data parallel over HCCL."""

    def determine_ddp_device_ids(self) -> None:
        """No ids: the module is already on the process's only card."""

    def post_backward(self, closure_loss: torch.Tensor) -> None:
        super().post_backward(closure_loss)
        _end_lazy_graph()

    def optimizer_step(self, *args: Any, **kwargs: Any) -> Any:
        output = super().optimizer_step(*args, **kwargs)
        _end_lazy_graph()
        return output


def trainer_parts(device: torch.device, precision: str, ranks: Ranks) -> dict[str, Any]:
    """The arguments of Lightning's Trainer that depend on the device; ``precision`` is bf16 or fp32.

    The process group has to exist (:func:`gaudi3_scale.ranks.join`).
    """
    is_hpu = device.type == "hpu"
    environment: ClusterEnvironment = TorchElasticEnvironment() if ranks.launched else LightningEnvironment()
    mixed = {"bf16": MixedPrecision("bf16-mixed", device.type), "fp32": Precision()}
    return {
        "accelerator": HPUAccelerator() if is_hpu else device.type,
        "devices": ranks.local_world_size,
        "num_nodes": ranks.nodes,
        "strategy": (HPUDDPStrategy if is_hpu else NodeDDPStrategy)(gradient_as_bucket_view=True),
        "plugins": [environment, WholeFileIO(), mixed[precision]],
        "use_distributed_sampler": False,
    }


def _end_lazy_graph() -> None:
    """In lazy mode (PT_HPU_LAZY_MODE=1) what was recorded runs from here on; in eager mode there is nothing to do."""
    importlib.import_module("habana_frameworks.torch.core").mark_step()
