# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""From what a Prometheus answers to what CloudWatch takes: dimensions from labels, calls of a size that is allowed."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any
from urllib.parse import quote

# PutMetricData: so many values and bytes a call, so many dimensions a value, and their length (API reference, 2026).
MOST_POINTS, MOST_DIMENSIONS, LONGEST_NAME, LONGEST_VALUE = 1000, 30, 255, 1024
# Of 1 MB, with room for the rest of the request.
MOST_BYTES = 900_000
# What boto3 of Debian 12 writes around each value: MetricData.member.1000.Dimensions.member.30.Value= is the longest.
_AROUND = 56
_DATES_BYTES, _NUMBERS_BYTES = 40, 30
# 2 to the 360th, beyond which a value is refused, as a smaller one than its inverse is.
_LARGEST = 2.0**360
# Of who asked; all that is sent comes from one.
_OMITTED = ("__name__", "job")
_RENAMED = {"instance": "node"}
_NOT_ASCII = re.compile(r"[^ -~]")


@dataclass(frozen=True)
class Sample:
    """One value of a Prometheus: its labels, when it was so, and what it is."""

    labels: Mapping[str, str]
    time: float
    value: float


@dataclass(frozen=True)
class Point:
    """One value as CloudWatch takes it."""

    name: str
    dimensions: tuple[tuple[str, str], ...]
    time: float
    value: float

    @property
    def datum(self) -> dict[str, Any]:
        """As boto3 takes it."""
        return {
            "MetricName": self.name,
            "Dimensions": [{"Name": name, "Value": value} for name, value in self.dimensions],
            "Timestamp": datetime.fromtimestamp(self.time, timezone.utc),
            "Value": self.value,
        }

    @property
    def size(self) -> int:
        """How many bytes it takes at most within a call."""
        texts = [self.name, *(text for pair in self.dimensions for text in pair)]
        words = sum(_AROUND + len(quote(text, safe="")) for text in texts)
        return words + 2 * _AROUND + _DATES_BYTES + _NUMBERS_BYTES


def points_of(samples: Iterable[Sample]) -> tuple[list[Point], list[str]]:
    """The values that CloudWatch takes, and the names of metrics of which some have too many labels for it.

    No number, and one beyond all bounds, is left out: CloudWatch refuses the whole call for one of these.
    """
    points, refused = [], set[str]()
    for sample in samples:
        name = sample.labels.get("__name__", "")
        value = _value(sample.value)
        dimensions = dimensions_of(sample.labels)
        if len(dimensions) > MOST_DIMENSIONS:
            refused.add(name)
        elif value is not None:
            points.append(Point(name, dimensions, sample.time, value))
    return points, sorted(refused)


def dimensions_of(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """By name; ``instance`` is a node here. What is blank is no dimension."""
    named = {_RENAMED.get(name, name): value for name, value in labels.items() if name not in _OMITTED}
    # One that has a label `node` of its own keeps it.
    named |= {name: value for name, value in labels.items() if name in _RENAMED.values()}
    plain = {_ascii(name)[:LONGEST_NAME].lstrip(":"): _ascii(value)[:LONGEST_VALUE] for name, value in named.items()}
    return tuple(sorted((name, value) for name, value in plain.items() if name.strip() and value.strip()))


def batches(points: Sequence[Point]) -> Iterator[list[Point]]:
    """What one call has each."""
    batch: list[Point] = []
    size = 0
    for point in points:
        if batch and (len(batch) == MOST_POINTS or size + point.size > MOST_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(point)
        size += point.size
    if batch:
        yield batch


def _value(number: float) -> float | None:
    if not math.isfinite(number) or abs(number) > _LARGEST:
        return None
    return number if abs(number) >= 1 / _LARGEST else 0.0


def _ascii(text: str) -> str:
    """What it is where it is ASCII, and what else two texts differ by as an escape."""
    return _NOT_ASCII.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)
