# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The largest batch of a model at hand in Python: ``from gaudi3_scale.batch import AdaptiveBatchFinder``, or
``AdaptiveBatchCallback`` for Lightning. Both run the trials that the probe of the nodes runs.
"""

from __future__ import annotations

import importlib
from typing import Any

_MODULES = {"AdaptiveBatchCallback": "callback", "AdaptiveBatchFinder": "finder"}


def __getattr__(name: str) -> Any:
    """Imported at the first use: a trial's process does without Lightning."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
