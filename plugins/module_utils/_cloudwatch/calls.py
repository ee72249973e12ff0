# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How many calls of Amazon's interfaces an hour has, in numbers and in a sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .options import Target
from .points import MOST_POINTS, batches, points_of
from .prometheus_query import Reading

HOUR_S = 3600


def calls_an_hour(calls_a_run: int, target: Target) -> int:
    """Where the account is checked, that is one more a run."""
    return math.ceil(HOUR_S / target.interval) * (calls_a_run + int(target.account is not None))


def told(target: Target, reading: Reading | None) -> Mapping[str, Any]:
    """What the module returns as ``cloudwatch``; ``reading`` is None where Prometheus does not answer yet."""
    at_most = calls_an_hour(math.ceil(target.most / MOST_POINTS), target)
    series = sum(reading.series.values()) if reading else None
    now = None
    if reading:
        points, _refused = points_of(reading.samples)
        now = calls_an_hour(len(list(batches(points))), target)
    return {
        "series": series,
        "calls_an_hour": now,
        "calls_an_hour_at_most": at_most,
        "without_values": [name for name in target.metrics if reading and name not in reading.series],
        "sentence": _sentence(target, series, now, at_most),
    }


def _sentence(target: Target, series: int | None, now: int | None, at_most: int) -> str:
    begins = f"CloudWatch in {target.region} is called"
    limit = f"at most {at_most} times an hour, with {target.most} series"
    if not series:
        return f"{begins} {limit}; Prometheus {'does not respond' if series is None else 'has none of them'} yet."
    counted = f"{series} series" if series != 1 else "1 series"
    return f"{begins} {now} times an hour with {counted} as they are now, and {limit}."


NOTHING: Mapping[str, Any] = {
    "series": 0,
    "calls_an_hour": 0,
    "calls_an_hour_at_most": 0,
    "without_values": [],
    "sentence": "",
}
