# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The batch size of a Lightning training, found before it begins: ``Trainer(callbacks=[AdaptiveBatchCallback()])``."""

from __future__ import annotations

from typing import Any

import lightning.pytorch as lightning
import torch

from gaudi3_scale.batch.finder import AdaptiveBatchFinder, first_batch
from gaudi3_scale.core._errors import GaudiError


class AdaptiveBatchCallback(lightning.Callback):
    """Sets ``batch_size`` of the data module, or else of the model, which their ``train_dataloader`` has to use.

    ``options`` are those of AdaptiveBatchFinder; device and precision are the trainer's. With several ranks each looks
    for its own, and all take the smallest. ``batch_size`` holds what was found.
    """

    def __init__(self, attribute: str = "batch_size", **options: Any) -> None:
        self._attribute = attribute
        self._options = options
        self.batch_size: int | None = None

    def setup(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, stage: str) -> None:
        """Before the model is moved to its device: on a Gaudi the trials need the card for themselves."""
        if stage != "fit":
            return
        holder = self._holder(trainer, pl_module)
        data = _data_of(trainer)
        source = data if data is not None else pl_module
        options = {"precision": str(trainer.precision), "device": trainer.strategy.root_device.type, **self._options}
        if "batch" not in options:
            options["batch"] = first_batch(source)
        found = AdaptiveBatchFinder(pl_module, **options).find_optimal_batch_size()
        least = (
            trainer.strategy.reduce(torch.tensor(float(found)), reduce_op="min") if trainer.world_size > 1 else found
        )
        self.batch_size = int(least)
        setattr(holder, self._attribute, self.batch_size)

    def _holder(self, trainer: lightning.Trainer, model: lightning.LightningModule) -> Any:
        for holder in (_data_of(trainer), model):
            if holder is not None and hasattr(holder, self._attribute):
                return holder
        raise GaudiError(
            f"Neither the model nor a data module has {self._attribute}, so there is nothing to set; give one of them "
            "that attribute, and let its train_dataloader use it."
        )


def _data_of(trainer: lightning.Trainer) -> lightning.LightningDataModule | None:
    # Lightning makes the attribute outside the class, where its types do not show it.
    return trainer.datamodule  # type: ignore[attr-defined,no-any-return]
