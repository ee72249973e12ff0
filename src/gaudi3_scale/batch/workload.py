# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A user's own model as a workload for probe trials: batches of any size, loss, optimizer and precision."""

from __future__ import annotations

import pickle
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Iterable

import torch
from torch import nn
from torch.utils._python_dispatch import _disable_current_modes

from gaudi3_scale.core._errors import GaudiError

# Lightning's names. None: no autocast.
PRECISIONS = {"bf16-mixed": torch.bfloat16, "16-mixed": torch.float16, "32-true": None, "32": None}


@dataclass(frozen=True)
class TrainedModel:
    """``batch`` is an example, or a function of the size. ``loss`` is of model and batch, ``optimizer`` of parameters.

    Left out, a LightningModule's own are taken; of another model the loss is its output's ``loss``, or a mean of what
    it puts out, which needs as much memory, and the optimizer is AdamW.
    """

    model: nn.Module
    batch: Any
    precision: str = "bf16-mixed"
    loss: Callable[[nn.Module, Any], torch.Tensor] | None = None
    optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None = None

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise GaudiError(f"precision {self.precision}: choose {', '.join(PRECISIONS)}.")
        if getattr(self.model, "automatic_optimization", True) is False:
            raise GaudiError(
                "The model optimizes manually (automatic_optimization is False), so its steps cannot be run from "
                "outside; write a workload function instead (docs/training.md) and probe that."
            )


def pickled(batch_size: int, device: torch.device, file: str) -> Callable[[], torch.Tensor]:
    """The workload of trials in other processes: the TrainedModel in ``file``."""
    # The file is one that this very probe wrote a moment ago. An estimate's fake tensors are not for what is in it.
    with _disable_current_modes():
        trained = pickle.loads(Path(file).read_bytes())
    return training(trained, batch_size, device)


def training(trained: TrainedModel, batch_size: int, device: torch.device) -> Callable[[], torch.Tensor]:
    """One step of ``trained`` with batches of ``batch_size``. Trains the model itself and not a copy."""
    model = trained.model.to(device).train()
    optimizers = _optimizers(trained)
    make_batch = trained.batch if callable(trained.batch) else lambda size: resized(trained.batch, size)
    loss_of = trained.loss or (_lightning_loss if hasattr(model, "training_step") else _loss_of_output)
    batch = moved(make_batch(batch_size), device)

    def step() -> torch.Tensor:
        with _autocast(trained.precision, device):
            loss = loss_of(model, batch)
        loss.backward()
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        return loss.detach()

    return step


def resized(example: Any, size: int) -> Any:
    """``example`` with ``size`` samples: those that it has, over and over. What is no batch of samples stays."""
    count = _samples(example)
    if count is None:
        raise GaudiError("The example batch holds no tensor with samples; give batch as a function of the size.")

    def resize(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.dim() == 0 or len(tensor) != count:
            return tensor
        return tensor[torch.arange(size, device=tensor.device) % count]

    return _mapped(example, resize)


def moved(batch: Any, device: torch.device) -> Any:
    return _mapped(batch, lambda tensor: tensor.to(device))


def _samples(batch: Any) -> int | None:
    """The length of the first tensor that has one."""
    lengths: list[int] = []
    _mapped(batch, lambda tensor: lengths.append(len(tensor)) if tensor.dim() else None)
    return lengths[0] if lengths and lengths[0] else None


def _mapped(batch: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if isinstance(batch, dict):
        return {name: _mapped(part, change) for name, part in batch.items()}
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_mapped(part, change) for part in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(_mapped(part, change) for part in batch)
    return batch


def _autocast(precision: str, device: torch.device) -> AbstractContextManager[Any]:
    dtype = PRECISIONS[precision]
    return nullcontext() if dtype is None else torch.autocast(device.type, dtype=dtype)


def _lightning_loss(model: Any, batch: Any) -> torch.Tensor:
    output = model.training_step(batch, 0)
    loss: torch.Tensor = output["loss"] if isinstance(output, dict) else output
    return loss


def _loss_of_output(model: nn.Module, batch: Any) -> torch.Tensor:
    output = model(**batch) if isinstance(batch, dict) else model(*batch) if _is_several(batch) else model(batch)
    loss: torch.Tensor | None = getattr(output, "loss", None)
    if loss is not None:
        return loss
    value = getattr(output, "logits", output)
    if not isinstance(value, torch.Tensor):
        raise GaudiError(
            f"The model returns {type(value).__name__}, which has no loss; give loss, a function of model and batch."
        )
    return value.float().mean()


def _is_several(batch: Any) -> bool:
    return isinstance(batch, (list, tuple))


def _optimizers(trained: TrainedModel) -> list[torch.optim.Optimizer]:
    if trained.optimizer is not None:
        return [trained.optimizer(trained.model.parameters())]
    if not hasattr(trained.model, "configure_optimizers"):
        return [torch.optim.AdamW(trained.model.parameters())]
    model: Any = trained.model
    configured = model.configure_optimizers()
    if isinstance(configured, tuple) and len(configured) == 2 and isinstance(configured[0], (list, tuple)):
        configured = configured[0]
    several = configured if isinstance(configured, (list, tuple)) else [configured]
    return [one["optimizer"] if isinstance(one, dict) else one for one in several if one is not None]
