# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Autocast on Gaudi for Lightning: ``Trainer(plugins=[GaudiMixedPrecision()], ...)``. Never run on a card."""

from __future__ import annotations

import torch
from lightning.pytorch.plugins import MixedPrecision

from gaudi3_scale.elsewhere import FP8
from gaudi3_scale.gaudi.accelerator import GaudiAccelerator

PRECISIONS = ("bf16-mixed", "32-true")


class GaudiMixedPrecision(MixedPrecision):
    """bf16 where the bridge's lists of operators say so, fp32 for the rest and for the weights; or fp32 throughout.

    The lists are the bridge's own and are changed by files named in PT_HPU_AUTOCAST_LOWER_PRECISION_OPS_LIST and
    PT_HPU_AUTOCAST_FP32_OPS_LIST (docs.habana.ai, Mixed Precision Training with PyTorch Autocast).
    """

    def __init__(self, precision: str = "bf16-mixed") -> None:
        if "fp8" in str(precision).lower():
            raise ValueError(f"precision={precision!r}: {FP8}.")
        if precision not in PRECISIONS:
            raise ValueError(f"precision={precision!r}: choose one of {', '.join(PRECISIONS)}.")
        super().__init__("bf16-mixed", GaudiAccelerator.name())
        # Lightning's type has the words one by one; of them it is one that was looked up above.
        self.precision = precision  # type: ignore[assignment]

    def autocast_context_manager(self) -> torch.autocast:
        # Without PyTorch's cache of cast weights, as in Lightning's own plugin.
        return torch.autocast(
            self.device, dtype=torch.bfloat16, enabled=self.precision == "bf16-mixed", cache_enabled=False
        )
