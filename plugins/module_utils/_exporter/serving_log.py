# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How many tokens each instance of a node has answered, a line a minute, so that it is known when it is long over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._follow.json_lines import mapping_of
from .day_log import append, lines
from .server_readings import ServerReading

DIRECTORY = "/var/lib/gaudi3_scale/exporter/serving"
# Two lines further apart than this have time between them in which nobody looked.
_TOGETHER_S = 300.0
_PROMPT, _GENERATED = "prompt_tokens_total", "generation_tokens_total"


@dataclass(frozen=True)
class Count:
    """Of an instance that was ``started`` then, up to ``time``; Unix times."""

    time: float
    started: float
    prompt: float
    generated: float


@dataclass(frozen=True)
class Answered:
    """Tokens of a period; ``seconds`` of it are known."""

    prompt: float
    generated: float
    seconds: float


def note(directory: Path, servers: Sequence[ServerReading], now: float) -> None:
    """Append a line for those that answer."""
    counted = {
        one.control.name: [one.started, one.metrics.values.get(_PROMPT, 0.0), one.metrics.values.get(_GENERATED, 0.0)]
        for one in servers
        if one.answers and one.started is not None and _GENERATED in one.metrics.values
    }
    if counted:
        append(directory, {"servings": counted}, now)


def read(directory: Path, name: str, begin: float, end: float) -> list[Count]:
    """In the order of time."""
    found = [count for line in lines(directory, begin, end) for count in _counts(line, name)]
    return sorted(found, key=lambda one: one.time)


def answered(counts: Sequence[Count], begin: float, end: float) -> Answered:
    """Between two moments, each as if it had answered evenly between the two lines around it.

    A counter begins anew with the instance: what the first line after its start has was answered since the start.
    """
    prompt = generated = known = 0.0
    for before, after in zip(counts, counts[1:]):
        is_same = before.started == after.started and after.generated >= before.generated
        since = before.time if is_same else max(before.time, after.started)
        low, high = max(since, begin), min(after.time, end)
        if high <= low or after.time <= since:
            continue
        share = (high - low) / (after.time - since)
        prompt += share * (after.prompt - (before.prompt if is_same else 0.0))
        generated += share * (after.generated - (before.generated if is_same else 0.0))
        # While it was stopped nothing was answered, and that is known; while nobody looked it may have been.
        if is_same or after.time - before.time <= _TOGETHER_S:
            known += min(after.time, end) - max(before.time, begin)
    return Answered(prompt, generated, known)


def _counts(line: Mapping[str, Any], name: str) -> Iterator[Count]:
    told: Any = mapping_of(line.get("servings")).get(name)
    try:
        started, prompt, generated = (float(value) for value in told)
        yield Count(float(line["time"]), started, prompt, generated)
    except (KeyError, TypeError, ValueError):
        return
