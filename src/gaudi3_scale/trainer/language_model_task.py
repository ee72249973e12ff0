# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Training of a causal language model as Lightning wants it: loss, optimizer, data, and what a checkpoint holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

import lightning.pytorch as lightning
import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.token_windows import HeldOutWindows, StreamSampler, TokenWindows, TrainingWindows
from gaudi3_scale.gaudi.optimizer import fused_adamw
from gaudi3_scale.models.language_model import next_token_loss
from gaudi3_scale.models.sharding import shared_out_from_first
from gaudi3_scale.ranks import Ranks
from gaudi3_scale.trainer.schedules import ONE_CYCLE, Schedule

if TYPE_CHECKING:
    from lightning.pytorch.utilities.types import OptimizerLRSchedulerConfig


@dataclass(frozen=True)
class Reading:
    """How this rank reads: ``workers`` processes read ahead (0: the rank itself reads, a function: it decides when the
    model is on its device). ``pins`` says of a batch whether such ones go to the device from page-locked memory."""

    windows: TokenWindows
    batch_size: int
    seed: int
    ranks: Ranks
    workers: int | Callable[[LanguageModelTask], int] = 0
    pins: Callable[[torch.Tensor, torch.device], bool] = lambda _batch, device: device.type == "cuda"


class LanguageModelTask(lightning.LightningModule):
    """``samples_seen`` counts the windows that all ranks together have trained on: where a resumed job reads on.

    ``shape`` is what a checkpoint's weights fit to, by the names of the options. ``sharded`` shares the model out over
    the ranks (FSDP2). ``origin`` is what an export has to know of the model beside its weights. ``gradient_norm`` is
    that of the last step before it was clipped, on the device until somebody reads it; None where nothing is clipped.
    """

    def __init__(
        self,
        model: nn.Module,
        shape: dict[str, Any],
        schedule: Schedule,
        reading: Reading,
        sharded: bool = False,
        origin: dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        self.model = model
        self.samples_seen = 0
        self.gradient_norm: torch.Tensor | None = None
        self.reading = reading
        self.training_windows = TrainingWindows(reading.windows)
        self._shape = shape
        self._schedule = schedule
        self._sharded = sharded
        self._origin = origin or {}

    def configure_model(self) -> None:
        if self._sharded:
            assert self.device_mesh is not None
            shared_out_from_first(self.model, self.device_mesh["data_parallel"], self.trainer.strategy.root_device)

    def training_step(self, batch: torch.Tensor, _index: int) -> torch.Tensor:
        self.samples_seen += len(batch) * self.reading.ranks.world_size
        return next_token_loss(self.model, batch)

    def validation_step(self, batch: torch.Tensor, _index: int) -> None:
        self.log("validation_loss", next_token_loss(self.model, batch), batch_size=len(batch), sync_dist=True)

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        optimizer = fused_adamw(self.parameters(), lr=self._schedule.learning_rate, betas=(0.9, 0.95))
        return {
            "optimizer": optimizer,
            "lr_scheduler": {"scheduler": self._schedule.scheduler(optimizer), "interval": "step"},
        }

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,  # noqa: ARG002
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,  # noqa: ARG002
    ) -> None:
        """As Lightning clips, but that the norm is kept."""
        if gradient_clip_val:
            self.gradient_norm = torch.nn.utils.clip_grad_norm_(self.parameters(), gradient_clip_val)

    def train_dataloader(self) -> DataLoader[torch.Tensor]:
        """Lightning asks for it after a checkpoint was restored, so that ``samples_seen`` is where to read on."""
        reading = self.reading
        sampler = StreamSampler(
            len(self.training_windows),
            reading.batch_size,
            reading.seed,
            reading.ranks.rank,
            reading.ranks.world_size,
            self.samples_seen,
        )
        workers = reading.workers if isinstance(reading.workers, int) else reading.workers(self)
        pinned = reading.pins(self.training_windows[[0] * reading.batch_size], self.device)
        return self._loader(self.training_windows, sampler, workers, pinned)

    def val_dataloader(self) -> DataLoader[torch.Tensor]:
        """This rank's share of the held-out windows; each rank has as many, so the last few may stay out."""
        held_out = HeldOutWindows(self.reading.windows)
        share = len(held_out) // self.reading.ranks.world_size or 1
        start = self.reading.ranks.rank * share % len(held_out)
        mine = range(start, start + share)
        batches = BatchSampler(mine, self.reading.batch_size, drop_last=False)
        return self._loader(held_out, batches, 0, self.device.type == "cuda")

    def _loader(self, windows: Any, batches: Any, workers: int, pinned: bool) -> DataLoader[torch.Tensor]:
        """An item is a whole batch already."""
        # Without its name the loader pins for CUDA alone in PyTorch before 2.8.
        named = self.device.type if pinned and self.device.type != "cuda" else ""
        return DataLoader(
            windows,
            sampler=batches,
            batch_size=None,
            num_workers=workers,
            pin_memory=pinned,
            pin_memory_device=named,
        )

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["samples_seen"] = self.samples_seen
        checkpoint["model_shape"] = self._shape
        checkpoint["origin"] = self._origin
        checkpoint["schedule"] = {"schedule": self._schedule.name, **self._fixed_by_schedule()}

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Raises GaudiError when the checkpoint is of another model, or its schedule cannot be resumed."""
        asked = {**self._shape, "schedule": self._schedule.name, **self._fixed_by_schedule()}
        for option, saved in checkpoint["model_shape"].items():
            _require_equal(option, asked.get(option), saved, "model")
        for option, saved in checkpoint["schedule"].items():
            _require_equal(option, asked.get(option), saved, "schedule")
        self.samples_seen = checkpoint["samples_seen"]

    def _fixed_by_schedule(self) -> dict[str, Any]:
        """One cycle has its end in the checkpoint; the others go on to any other one."""
        return {"max_steps": self._schedule.max_steps} if self._schedule.name == ONE_CYCLE else {}


def _require_equal(option: str, asked: Any, saved: Any, owner: str) -> None:
    if asked != saved:
        named = "--data: the vocabulary" if option == "vocabulary" else f"--{option.replace('_', '-')}"
        raise GaudiError(
            f"{named} {asked}: the checkpoint's {owner} has {saved}; give that, "
            "or another --job-dir to begin a new one."
        )
