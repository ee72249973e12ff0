# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a job uses on a node, from the lines that its supervisor leaves (supervisor/usage.py).

The job's account writes that file. Of what is in it only finite numbers are taken, and only so many.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Mapping, Optional, Sequence

from .._job.paths import JobPaths
from .._node.json_file import parse_json
from .._node.regular_file import read_end

MOST_BYTES = 4 << 20
# A line has about 600 bytes where a node has eight cards.
MOST_LINE = 1 << 14
MOST_CARDS = 64
# No quantity here is as large.
LIMIT = 1e18
POINTS = 240

Sample = dict[str, Optional[float]]
# Of a stretch of samples; all others are averaged.
_HIGHEST = ("time", "generation", "of_cores", "memory_bytes", "card_memory_bytes", "held_memory_bytes", "cards")


def read_usage(paths: JobPaths, limit: int = POINTS) -> list[Sample]:
    """At most ``limit`` samples over the whole run, each the mean of a stretch, and the highest of what is memory."""
    samples = _samples(read_end(paths.usage, MOST_BYTES) or "")
    count = min(limit, len(samples))
    cuts = [index * len(samples) // count for index in range(count + 1)] if count else []
    return [together(samples[low:high]) for low, high in zip(cuts, cuts[1:])]


def last_usage(paths: JobPaths) -> Sample:
    """The last sample, with what was last known of the cards, which are not asked each time; empty: there is none."""
    samples = _samples(read_end(paths.usage, 4 * MOST_LINE) or "")[-8:]
    known = {key: value for sample in samples for key, value in sample.items() if value is not None}
    return {**samples[-1], **known} if samples else {}


def _samples(text: str) -> list[Sample]:
    found = (_sample(line) for line in text.splitlines())
    return [sample for sample in found if sample is not None]


def _sample(line: str) -> Sample | None:
    """The numbers of a line, those of the cards together; None for what is no line of ours."""
    try:
        data = parse_json(line, MOST_LINE, named=True)
    except ValueError:
        return None
    if not isinstance(data, dict) or _number(data.get("time")) is None:
        return None
    reported = data.get("cards")
    cards: Mapping[str, object] = reported if isinstance(reported, dict) else {}
    keys = ("utilization", "memory_bytes", "watts", "held_bytes")
    busy, memory, watts, held = (_numbers(cards.get(key)) for key in keys)
    return {
        **{key: _number(data.get(key)) for key in ("time", "generation", "of_cores", "cores", "memory_bytes")},
        "cards": max(map(len, (busy, memory, watts))) or None,
        "utilization": fmean(busy) if busy else None,
        "lowest_utilization": min(busy, default=None),
        "card_memory_bytes": max(memory, default=None),
        "watts": sum(watts) if watts else None,
        # Where Synapse reports it.
        **({"held_memory_bytes": max(held)} if held else {}),
    }


def _numbers(values: object) -> list[float]:
    known = map(_number, values[:MOST_CARDS]) if isinstance(values, list) else ()
    return [value for value in known if value is not None]


def _number(value: object) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    # A whole number may be larger than any that a float can be.
    return float(value) if 0 <= value < LIMIT and not math.isnan(value) else None


def together(samples: Sequence[Mapping[str, float | None]]) -> Sample:
    """Several samples as one: the mean, of memory the highest."""
    known: dict[str, list[float]] = {}
    for sample in samples:
        for key, value in sample.items():
            known.setdefault(key, []).extend([] if value is None else [value])
    return {
        key: None if not values else max(values) if key in _HIGHEST else float(f"{fmean(values):.6g}")
        for key, values in known.items()
    }
