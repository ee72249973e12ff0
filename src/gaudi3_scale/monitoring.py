# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Monitoring of guides to Gaudi: their names are told what does it here."""

from __future__ import annotations

from typing import Any

from gaudi3_scale.elsewhere import refuse


def __getattr__(name: str) -> Any:
    """Told to whoever imports the name."""
    refuse(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
