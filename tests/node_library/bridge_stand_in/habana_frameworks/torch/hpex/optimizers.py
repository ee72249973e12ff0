# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The fused AdamW: the bridge's arguments and defaults, PyTorch's arithmetic."""

from __future__ import annotations

from typing import Any

import torch


class FusedAdamW(torch.optim.AdamW):
    def __init__(
        self,
        params: Any,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        bias_correction: bool = True,
    ) -> None:
        assert bias_correction
        super().__init__(params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)
