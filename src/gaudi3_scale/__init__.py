# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What runs on a node beside PyTorch: the trainer, the probe trial and the all-reduce check of gaudi3.scale, and
Gaudi's parts for your own Lightning code: ``from gaudi3_scale import GaudiAccelerator, GaudiMixedPrecision``.
How far your own script is, it tells by :func:`report_step`, ``TransformersCallback`` or ``LightningCallback``, and
whether it may still write checkpoints it learns by ``take_fence`` and ``holds_fence``.

``gaudi3_scale.core`` is the standard-library core that the Ansible modules use as well.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "1.0.0"

_GAUDI = {
    "GaudiAccelerator": "accelerator",
    "GaudiDDPStrategy": "strategies",
    "GaudiFSDP2Strategy": "strategies",
    "GaudiMixedPrecision": "precision",
    "GaudiOptimizer": "optimizer",
    "GaudiSingleStrategy": "strategies",
}
_FENCE = ("holds_fence", "take_fence")
_REPORTING = {
    "LightningCallback": "lightning_callback",
    "TransformersCallback": "transformers_callback",
    "report_step": "report_step",
}


def __getattr__(name: str) -> Any:
    """What is imported at its first use: the core, ``report_step`` and the fence do without torch and Lightning.

    Whichever of Gaudi's parts for Lightning is asked for, ``accelerator="hpu"`` and ``strategy="habana_ddp"`` are known
    to Lightning from then on.
    """
    if name in _GAUDI:
        importlib.import_module(f"{__name__}.gaudi.accelerator")
        return getattr(importlib.import_module(f"{__name__}.gaudi.{_GAUDI[name]}"), name)
    if name in _REPORTING:
        return getattr(importlib.import_module(f"{__name__}.reporting.{_REPORTING[name]}"), name)
    if name in _FENCE:
        return getattr(importlib.import_module(f"{__name__}.checkpoints.fence"), name)
    raise importlib.import_module(f"{__name__}.elsewhere").missing(__name__, name)
