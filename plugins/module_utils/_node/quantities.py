# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Measured quantities as people read them, on pages and screens: one format for all."""

from __future__ import annotations

import math

# Nothing that is measured is outside of these, and its zeros would fill a line.
_SMALLEST, _LARGEST = 1e-15, 1e21
_WHOLE = 100


def quantity(value: float, digits: int = 4) -> str:
    """``315,600``, ``951``, ``19.33`` or ``0.00012``: at most ``digits`` that count, thousands apart, no exponent.

    A hundred of anything has no tenths.
    """
    return written(round(value) if _WHOLE <= abs(value) < _LARGEST else value, digits)


def rounded(value: float) -> str:
    """The same of what was measured once, of which a fourth digit is noise."""
    return quantity(value, 3)


def written(value: float, digits: int = 10) -> str:
    """In the same format what was not measured, as the number at an axis: with its own digits."""
    if not value or not math.isfinite(value) or not _SMALLEST <= abs(value) < _LARGEST:
        return f"{value:.{digits}g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{round(value, places):,.{max(0, places)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def short_bytes(size: float) -> str:
    """61.2 GiB, 340 MiB."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 1 << 30 else f"{size / (1 << 20):.0f} MiB"
