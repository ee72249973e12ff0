# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where a job's time went, from its metric lines: steps that count, steps made twice, and what lay between."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

Run = Mapping[str, Any]


@dataclass(frozen=True)
class Course:
    """``begin`` and ``end`` are Unix time. Seconds on the wall: ``stepping`` in steps that count, ``lost`` in steps
    that were made once more, ``between`` from the last step of a run to the first of the next. ``tokens`` are those
    of steps that count; None where no line has tokens.
    """

    begin: float
    end: float
    steps: int
    tokens: float | None
    stepping_seconds: float
    lost_seconds: float
    between_seconds: float
    restarts: int

    @property
    def seconds(self) -> float:
        return self.end - self.begin

    @property
    def tokens_per_second(self) -> float | None:
        """Over all of its time, restarts and checkpoints too."""
        return self.tokens / self.seconds if self.tokens is not None and self.seconds > 0 else None


def runs_since(runs: Iterable[Run], begin: float | None) -> tuple[list[Run], list[Run]]:
    """Those that began before ``begin``, and the others: ``training_job_history`` tells also what was put away."""
    earlier: list[Run] = []
    since: list[Run] = []
    for run in runs:
        (since if begin is None or _begun(run) >= begin else earlier).append(run)
    return earlier, since


def course_of(runs: Sequence[Run], started: float | None, ended: float | None) -> Course | None:
    """Of the runs that ``training_job_history`` tells; None where no run has made two steps that were told.

    ``started`` and ``ended`` are the job's where they are known; else it is as long as its lines tell.
    """
    told = [_points(run) for run in runs]
    stepped = [(run, points) for run, points in zip(runs, told) if len(points) > 1]
    if not stepped:
        return None
    begin = min([*([] if started is None else [started]), *(_begun(run) for run, _points in stepped)])
    stepping = sum(points[-1]["time"] - points[0]["time"] for _run, points in stepped)
    steps = sum(points[-1]["step"] - points[0]["step"] for _run, points in stepped)
    # A run's points end where a later one began; its own last line is that of its last step.
    ends = [_last_time(run, points) for run, points in stepped]
    lost = sum(end - points[-1]["time"] for (_run, points), end in zip(stepped, ends))
    between = sum(max(0.0, points[0]["time"] - end) for (_run, points), end in zip(stepped[1:], ends))
    a_step = _tokens_a_step(point for _run, points in stepped for point in points)
    return Course(
        begin,
        max(ends) if ended is None else max(ended, begin),
        steps,
        None if a_step is None else a_step * steps,
        stepping,
        lost,
        between,
        len(stepped) - 1,
    )


def _last_time(run: Run, points: Sequence[Mapping[str, Any]]) -> float:
    last = (run.get("last") or {}).get("time")
    told = float(last) if isinstance(last, (int, float)) else 0.0
    return max(told, float(points[-1]["time"]))


def _points(run: Run) -> list[Mapping[str, Any]]:
    points = run.get("points") or ()
    right = [one for one in points if all(isinstance(one.get(name), (int, float)) for name in ("step", "time"))]
    return sorted(right, key=lambda one: (one["time"], one["step"]))


def _begun(run: Run) -> float:
    """0 where the run has told no time."""
    told = [(run.get("start") or {}).get("time"), *(point["time"] for point in _points(run)[:1])]
    return next((float(time) for time in told if isinstance(time, (int, float))), 0.0)


def _tokens_a_step(points: Iterable[Mapping[str, Any]]) -> float | None:
    """A job's steps are alike, so the median leaves out what a checkpoint did to a line."""
    found = []
    for point in points:
        rate, seconds = point.get("tokens_per_second"), (point.get("seconds") or {}).get("step")
        if isinstance(rate, (int, float)) and isinstance(seconds, (int, float)):
            found.append(rate * seconds)
    return median(found) if found else None
