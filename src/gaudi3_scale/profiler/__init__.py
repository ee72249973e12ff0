# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why a step takes as long as it does: ``from gaudi3_scale.profiler import GaudiProfiler`` (docs/profile.md)."""

from __future__ import annotations

import importlib
from typing import Any

# A name of guides, and what does it.
_INSTEAD = {
    "BatchOptimizer": "gaudi3_scale.batch.AdaptiveBatchFinder finds the largest batch size (docs/probe.md)",
}


def __getattr__(name: str) -> Any:
    """Imported at the first use: the command does without PyTorch."""
    if name == "GaudiProfiler":
        return importlib.import_module(f"{__name__}.profiler").GaudiProfiler
    if name in _INSTEAD:
        raise ImportError(f"gaudi3_scale has no {name}: {_INSTEAD[name]}.", name=name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
