# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The metrics that rank 0 of a job appends to its file as lines of JSON, and how they look on a screen."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

# As much as one call returns; what is beyond comes with the next call, from the offset it is given.
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Metrics:
    """``lines`` since the offset that was asked for, and the ``offset`` (bytes) from which to go on."""

    lines: tuple[Mapping[str, object], ...]
    offset: int


def read_metrics(path: str, after: int = 0) -> Metrics:
    """The whole lines of ``path`` from byte ``after`` on; a negative one counts from the end, as in a slice.

    A file shorter than ``after`` is a new one: it is read from its start.
    """
    try:
        with Path(path).open("rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            start = max(0, size + after) if after < 0 else after if after <= size else 0
            stream.seek(start)
            data = stream.read(CHUNK_BYTES)
    except OSError:
        return Metrics((), 0)
    # The writer may be in the middle of its last line, and a start counted from the end in that of any other.
    whole = data[: data.rfind(b"\n") + 1]
    return Metrics(tuple(filter(None, map(_object, whole.splitlines()))), start + len(whole))


def _object(line: bytes) -> Mapping[str, object] | None:
    try:
        data = json.loads(line)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None


def step_losses(lines: tuple[Mapping[str, object], ...]) -> list[object]:
    """The losses of the steps among ``lines``, in their order."""
    return [line["loss"] for line in lines if line.get("kind") == "step" and "loss" in line]


def metric_line(metric: Mapping[str, object]) -> str:
    """One metric as a line for people; a kind or key that is not known here is shown as it is."""
    if metric.get("kind") == "step":
        return "  ".join(filter(None, (_step(metric), _loss(metric), _speed(metric), _left(metric))))
    rest = {key: value for key, value in metric.items() if key not in ("kind", "time") and value is not None}
    return f"{metric.get('kind', '?')}: " + ", ".join(f"{key} {_plain(value)}" for key, value in rest.items())


def _step(metric: Mapping[str, object]) -> str:
    total = metric.get("max_steps")
    return f"step {metric.get('step', '?')}" + (f"/{total}" if total else "")


def _loss(metric: Mapping[str, object]) -> str:
    loss = metric.get("loss")
    return f"loss {loss:.4f}" if isinstance(loss, (int, float)) else ""


def _speed(metric: Mapping[str, object]) -> str:
    speed = metric.get("tokens_per_second")
    return f"{speed:,.0f} tokens/s" if isinstance(speed, (int, float)) else ""


def _left(metric: Mapping[str, object]) -> str:
    seconds = metric.get("seconds_left")
    return f"{duration(seconds)} left" if isinstance(seconds, (int, float)) else ""


def _plain(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def duration(seconds: float) -> str:
    """Seconds as people write them: 42 s, 3 min 05 s, 2 h 04 min, 3 d 01 h."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600:02d} h"
