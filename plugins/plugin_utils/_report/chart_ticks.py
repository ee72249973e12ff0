# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Round numbers for the axes of a chart."""

from __future__ import annotations

import math

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import written

TICKS = 5
# What a tick may be a multiple of, times a power of ten.
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def tick_step(low: float, high: float) -> float:
    """The distance between about so many ticks as there is room for; ``high`` is above ``low``."""
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    return next(factor * power for factor in _STEPS if factor * power >= rough * (1 - 1e-9))


def ticks_inside(low: float, high: float) -> list[float]:
    """The round numbers from ``low`` to ``high``."""
    step = tick_step(low, high)
    return [number * step for number in range(math.ceil(low / step), math.floor(high / step) + 1)]


def ticks_around(low: float, high: float) -> list[float]:
    """Round numbers of which the first is not above ``low`` and the last not below ``high``."""
    step = tick_step(low, high)
    # What is a multiple but for a rounding error needs no further tick.
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]


def tick_text(value: float) -> str:
    """``1,200`` and ``0.3``: no exponent, and nothing of the way in which a number was computed."""
    return written(value)
