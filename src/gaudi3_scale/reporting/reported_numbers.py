# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Numbers as programs have them, of Python, NumPy or PyTorch, as plain ones. Standard library only."""

from __future__ import annotations

import operator
from typing import Any

# Beyond this a count is a mistake, and JSON's readers lose digits.
MOST_STEPS = 2**53


def step_of(value: Any) -> int | None:
    """A number of steps; None for what is none, as ``True``, ``"7"``, 2.5, -1, NaN."""
    if isinstance(value, bool):
        return None
    try:
        # float() for one of 7.0, which some loops count with.
        step = int(value) if isinstance(value, float) and value.is_integer() else operator.index(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return None
    return step if 0 <= step <= MOST_STEPS else None


def real_of(value: Any) -> float | None:
    """A real number, also NaN and the infinities; None for what is none, as ``True``, a text, a tensor of several."""
    if isinstance(value, (bool, str, bytes)):
        return None
    try:
        return float(value)
    except OverflowError:
        # An integer of hundreds of digits.
        return float("inf") if value > 0 else float("-inf")
    except (TypeError, ValueError, RuntimeError):
        return None
