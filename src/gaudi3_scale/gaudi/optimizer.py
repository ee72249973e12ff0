# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""AdamW as the device does it best: the bridge's fused one on Gaudi, PyTorch's elsewhere. Never run on a card."""

from __future__ import annotations

from typing import Any, Iterable

import torch

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import habana


def fused_adamw(
    params: Iterable[torch.Tensor] | Iterable[dict[str, Any]],
    lr: float = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.01,
    use_habana: bool = True,
) -> torch.optim.Optimizer:
    """AdamW for ``params``, with PyTorch's defaults on every device.

    On Gaudi it is ``habana_frameworks.torch.hpex.optimizers.FusedAdamW`` (docs.habana.ai, Fused Optimizers), unless
    ``use_habana`` is false. Two kinds of parameters stay with PyTorch's: those of another device, and the shards
    of FSDP2, since the fused operator has no rule for a DTensor. The parameters have to be on their device already,
    as they are in Lightning's ``configure_optimizers``.

    The bridge's own defaults are others (eps 1e-6, no weight decay), and it adds ``eps`` before the bias correction
    where PyTorch adds it after.
    """
    groups: list[Any] = list(params)
    tensors = _tensors(groups)
    options: dict[str, Any] = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
    if use_habana and all(tensor.device.type == "hpu" for tensor in tensors) and not _sharded(tensors):
        fused: torch.optim.Optimizer = habana("hpex.optimizers").FusedAdamW(groups, **options)
        return fused
    return torch.optim.AdamW(groups, **options)


class GaudiOptimizer:
    """The name under which the fused optimizers are found."""

    FusedAdamW = staticmethod(fused_adamw)


def _sharded(tensors: list[torch.Tensor]) -> bool:
    # Importing it takes two seconds, which a probe trial on another device need not wait for.
    from torch.distributed.tensor import DTensor

    return any(isinstance(tensor, DTensor) for tensor in tensors)


def _tensors(groups: list[Any]) -> list[torch.Tensor]:
    if not groups:
        raise GaudiError("fused_adamw was given no parameters; has the model any that are trained?")
    if not isinstance(groups[0], dict):
        return groups
    for group in groups:
        # parameters() is a generator: what is looked at here would be gone for the optimizer.
        group["params"] = [group["params"]] if isinstance(group["params"], torch.Tensor) else list(group["params"])
    return [tensor for group in groups for tensor in group["params"]]
