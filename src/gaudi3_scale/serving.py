# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nothing in Python serves a model here: guides import such names from this module, and are told what does it."""

from __future__ import annotations

from typing import Any

from gaudi3_scale.elsewhere import missing


def __getattr__(name: str) -> Any:
    """Told to whoever imports the name."""
    raise missing(__name__, name)
