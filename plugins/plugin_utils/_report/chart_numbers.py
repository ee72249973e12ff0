# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Numbers as a chart can draw them: they may come from nodes, and as texts from Ansible before 2.19."""

from __future__ import annotations

import math
from typing import Any, Mapping

from ansible_collections.gaudi3.scale.plugins.module_utils._node.json_file import LARGEST_NUMBER, SMALLEST_NUMBER


def drawable(value: object) -> float | None:
    """The number; None for what is none, or is larger than anything that is measured."""
    try:
        number = float(value) if isinstance(value, (int, float, str)) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if abs(number) <= LARGEST_NUMBER else None


def points_of(one: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Those of a chart's points that can be drawn."""
    points = [tuple(map(drawable, point)) for point in one["points"] if len(point) == 2]
    return [(x, y) for x, y in points if x is not None and y is not None]


def bar_of(one: Mapping[str, Any]) -> dict[str, Any]:
    """A bar of intervals, whose numbers are above 0; without them where one is not."""
    ends = {name: drawable(one[name]) for name in ("estimate", "low", "high") if one.get(name) is not None}
    whole = all(value is not None and value > SMALLEST_NUMBER for value in ends.values())
    return {**one, **(ends if whole else dict.fromkeys(ends))}
