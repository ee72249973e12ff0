# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``from gaudi3_scale.precision import GaudiMixedPrecision``, as guides to Gaudi have it; the class is loaded then."""

from __future__ import annotations

import importlib
from typing import Any

from gaudi3_scale.elsewhere import missing

OURS = "GaudiMixedPrecision"


def __getattr__(name: str) -> Any:
    """The one class, or what does instead of another."""
    if name == OURS:
        return getattr(importlib.import_module("gaudi3_scale"), OURS)
    raise missing(__name__, name)
