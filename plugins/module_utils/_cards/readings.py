# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a card can say of itself: the range of each reading. What is outside is no value, as if nothing had been said.

Operators have seen 505,712,272 degrees Celsius; what a field of a firmware has that was never written can be anything.
The ranges are wider than any card's limits (``hardware.py``), so that a hot card is one: they tell numbers that mean
something from those that do not. A temperature of 0 is a value: that of a card that did not initialize.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from .hl_smi import decimal


class Range(NamedTuple):
    """The least and the most that a reading can be, both possible."""

    least: float
    most: float


_MIB = Range(0, 1 << 21)
_ERRORS = Range(0, 1_000_000)
# By the names of hl-smi's query, and of the driver's attributes below /sys/class/accel.
RANGES: Mapping[str, Range] = {
    "temperature.aip": Range(0, 150),
    "power.draw": Range(0, 2000),
    "power.max": Range(1, 2000),
    "utilization.aip": Range(0, 100),
    "memory.total": Range(1, 1 << 21),
    "memory.used": _MIB,
    "ecc.errors.uncorrected.volatile.total": _ERRORS,
    "ecc.errors.uncorrected.aggregate.total": _ERRORS,
    "ecc.errors.corrected.volatile.total": Range(0, 1_000_000_000),
    "module_id": Range(0, 63),
    # In MHz, mW, and resets since the driver was loaded.
    "clk_cur_freq_mhz": Range(0, 10_000),
    "clk_max_freq_mhz": Range(1, 10_000),
    "max_power": Range(1, 2_000_000),
    "hard_reset_cnt": Range(0, 1_000_000),
}


def reading(name: str, text: str | None) -> float | None:
    """The number of a value with a unit; None where there is none, or none that it can be."""
    value = decimal(text)
    return value if value is not None and RANGES[name].least <= value <= RANGES[name].most else None


def whole(name: str, text: str | None) -> int | None:
    """The same, rounded."""
    value = reading(name, text)
    return None if value is None else round(value)


def absurd(row: Mapping[str, str | None]) -> dict[str, str]:
    """What was said that is no value, by name; where nothing was said, there is none."""
    said = ((name, row.get(name)) for name in RANGES)
    return {name: text for name, text in said if text is not None and reading(name, text) is None}
