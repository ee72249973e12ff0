# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Training of the byte model as Lightning wants it: loss, optimiser, schedule, data, and what a checkpoint holds."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import lightning.pytorch as lightning
import torch
from torch.utils.data import DataLoader, Subset

from gaudi3_scale.core.errors import GaudiError
from gaudi3_scale.language_model import ByteLanguageModel, ModelShape, next_byte_loss
from gaudi3_scale.optimizer import fused_adamw
from gaudi3_scale.ranks import Ranks
from gaudi3_scale.text_dataset import StreamSampler, TextWindows, split_windows

FINAL_RATE = 0.1
"""The part of the learning rate that is left at the last step."""


@dataclass(frozen=True)
class Schedule:
    """Linear warm-up to ``learning_rate`` over ``warmup_steps``, then a cosine down to a tenth at ``max_steps``."""

    learning_rate: float
    warmup_steps: int
    max_steps: int

    def factor(self, step: int) -> float:
        """The learning rate of step ``step`` (the first is 0) as a part of the highest."""
        if step < self.warmup_steps:
            return (step + 1) / self.warmup_steps
        done = min(1.0, (step - self.warmup_steps) / max(1, self.max_steps - self.warmup_steps))
        return FINAL_RATE + (1 - FINAL_RATE) * (1 + math.cos(math.pi * done)) / 2


class LanguageModelTask(lightning.LightningModule):
    """``samples_seen`` counts the windows that all ranks together have trained on: where a resumed job reads on.

    ``workers`` are processes that read ahead (0: the rank itself reads). ``checkpointing`` changes how a step is
    computed and not what it computes, so a checkpoint goes on with or without it.
    """

    def __init__(
        self,
        shape: ModelShape,
        schedule: Schedule,
        windows: TextWindows,
        batch_size: int,
        seed: int,
        ranks: Ranks,
        *,
        checkpointing: bool = False,
        workers: int = 0,
    ) -> None:
        super().__init__()
        self.model = ByteLanguageModel(shape, checkpointing)
        self._workers = workers
        self.samples_seen = 0
        self._shape = shape
        self._schedule = schedule
        self._windows = windows
        self._batch_size = batch_size
        self._seed = seed
        self._ranks = ranks

    def training_step(self, batch: torch.Tensor, _index: int) -> torch.Tensor:
        self.samples_seen += len(batch) * self._ranks.world_size
        return next_byte_loss(self.model, batch)

    def validation_step(self, batch: torch.Tensor, _index: int) -> None:
        self.log("validation_loss", next_byte_loss(self.model, batch), batch_size=len(batch), sync_dist=True)

    def configure_optimizers(self) -> dict[str, Any]:
        optimizer = fused_adamw(self.parameters(), lr=self._schedule.learning_rate, betas=(0.9, 0.95))
        scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, self._schedule.factor)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": scheduler, "interval": "step"}}

    def train_dataloader(self) -> DataLoader:
        """Lightning asks for it after a checkpoint was restored, so that ``samples_seen`` is where to read on."""
        training, _ = split_windows(len(self._windows))
        sampler = StreamSampler(
            training, self._batch_size, self._seed, self._ranks.rank, self._ranks.world_size, self.samples_seen
        )
        return DataLoader(self._windows, batch_sampler=sampler, num_workers=self._workers)

    def val_dataloader(self) -> DataLoader:
        """This rank's share of the held-out windows; each rank has as many, so the last few may stay out."""
        _, held_out = split_windows(len(self._windows))
        share = len(held_out) // self._ranks.world_size or 1
        start = self._ranks.rank * share % len(held_out)
        mine = held_out[start : start + share].tolist()
        return DataLoader(Subset(self._windows, mine), batch_size=self._batch_size)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["samples_seen"] = self.samples_seen
        checkpoint["model_shape"] = asdict(self._shape)

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Raises GaudiError when the checkpoint is of another model."""
        asked = asdict(self._shape)
        for option, saved in checkpoint["model_shape"].items():
            if saved != asked[option]:
                raise GaudiError(
                    f"--{option.replace('_', '-')} {asked[option]}: the checkpoint's model has {saved}; give that, "
                    "or another --job-dir to begin a new one."
                )
        self.samples_seen = checkpoint["samples_seen"]
