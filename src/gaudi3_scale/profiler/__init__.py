# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why a step takes as long as it does: ``from gaudi3_scale.profiler import GaudiProfiler`` (docs/profile.md)."""

from __future__ import annotations

import importlib
from typing import Any

from gaudi3_scale.elsewhere import missing


def __getattr__(name: str) -> Any:
    """Imported at the first use: the command does without PyTorch."""
    if name == "GaudiProfiler":
        return importlib.import_module(f"{__name__}.profiler").GaudiProfiler
    raise missing(__name__, name)
