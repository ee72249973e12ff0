# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Gaudi as an accelerator of Lightning: ``Trainer(accelerator="hpu", strategy="habana_ddp")`` once this is imported.

Lightning 2.6 has no Gaudi of its own and the separate lightning-habana ended in 2024. Never run on a card.
"""

from __future__ import annotations

from typing import Any

import lightning.pytorch as lightning
import torch
from lightning.fabric.accelerators.registry import _AcceleratorRegistry
from lightning.pytorch.accelerators import Accelerator, AcceleratorRegistry
from lightning.pytorch.strategies import StrategyRegistry
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from gaudi3_scale.devices import hpu_module, missing
from gaudi3_scale.gaudi.strategies import STRATEGIES, GaudiStrategy

DEVICE = torch.device("hpu")
"""What every process calls its own card. Which card that is, the bridge decides by the process's local rank."""


class GaudiAccelerator(Accelerator):
    """One Gaudi card a process. ``devices`` is how many processes, and so cards, a node has."""

    @staticmethod
    def name() -> str:
        return "hpu"

    @classmethod
    def register_accelerators(cls, accelerator_registry: _AcceleratorRegistry) -> None:
        accelerator_registry.register(cls.name(), cls, description="Gaudi cards", override=True)

    @staticmethod
    def is_available() -> bool:
        return missing("hpu") is None

    @staticmethod
    def auto_device_count() -> int:
        count: int = hpu_module().device_count()
        return count

    @staticmethod
    def parse_devices(devices: Any) -> int:
        """A number of cards from what ``Trainer(devices=...)`` was given, -1 being all of them.

        Which cards cannot be said here: the bridge gives the process of local rank n the n-th of
        HABANA_VISIBLE_MODULES (hccl/__init__.py of its source).
        """
        if isinstance(devices, (list, tuple)):
            raise MisconfigurationException(
                f"devices={devices!r}: GaudiAccelerator takes the number of cards; name the cards themselves in "
                "HABANA_VISIBLE_MODULES."
            )
        try:
            asked = int(devices)
        except (TypeError, ValueError):
            asked = 0
        there = GaudiAccelerator.auto_device_count()
        count = there if asked == -1 else asked
        if not 1 <= count <= there:
            raise MisconfigurationException(
                f"devices={devices!r}: this node shows {there} cards; give a number from 1 to {there}, or -1 for all."
            )
        return count

    @staticmethod
    def get_parallel_devices(devices: int) -> list[torch.device]:
        return [DEVICE] * devices

    def setup_device(self, device: torch.device) -> None:
        """Nothing but a check: the bridge opens the card at its first use.

        Without a strategy, Lightning 2.6 gives SingleDeviceStrategy("cpu") to an accelerator that it does not know
        (``_AcceleratorConnector._choose_strategy``): the run would be on the CPU without a word.
        """
        if device.type != DEVICE.type:
            raise MisconfigurationException(
                f"GaudiAccelerator was given the device {device}, since Lightning chose the strategy; "
                f"give the Trainer one of strategy={', '.join(map(repr, STRATEGIES))}."
            )

    def setup(self, trainer: lightning.Trainer) -> None:
        """Refuse Lightning's own strategies: none of them joins the ranks over HCCL or ends the lazy graphs."""
        if not isinstance(trainer.strategy, GaudiStrategy):
            raise MisconfigurationException(
                f"{type(trainer.strategy).__name__} does not know Gaudi; "
                f"give the Trainer one of strategy={', '.join(map(repr, STRATEGIES))}."
            )

    def get_device_stats(self, device: Any) -> dict[str, Any]:
        """Bytes and counts of the bridge's allocator: ``Limit``, ``InUse``, ``MaxInUse``, ``NumAllocs``, …"""
        return dict(hpu_module().memory_stats(device))

    def teardown(self) -> None:
        """Nothing: the card is given back when the process ends."""


GaudiAccelerator.register_accelerators(AcceleratorRegistry)
for _strategy in STRATEGIES.values():
    _strategy.register_strategies(StrategyRegistry)
