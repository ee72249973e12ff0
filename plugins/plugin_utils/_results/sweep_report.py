# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The points of a sweep side by side: a table, their curves in one chart, and which has the lowest loss; pure."""

from __future__ import annotations

import shlex
from collections import Counter
from typing import Any, Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import is_number, rate_of
from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import RUNNING
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity
from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.stacked_chart import COLORS
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_charts import X_LABEL
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.training_row import rate_column

COLUMNS = ("point", "arguments", "state", "step", "loss", "lowest loss")
WAITING = "waiting"

Point = Mapping[str, Any]


def merged_sweep(histories: Sequence[Mapping[str, Any]]) -> list[Point]:
    """The points from what several nodes know: which one has written a point's metrics, Slurm has chosen."""
    reported: dict[int, list[Point]] = {}
    for history in histories:
        for point in history.get("sweep") or ():
            reported.setdefault(point["point"], []).append(point)
    return [_merged(reported[number]) for number in sorted(reported)]


def _merged(reported: Sequence[Point]) -> Point:
    newest = max(reported, key=lambda point: (point["last"] or {}).get("time") or 0.0)
    known = {
        name: next((point[name] for point in reported if point[name] is not None), None)
        for name in ("arguments", "state")
    }
    return {**newest, **known}


def sweep_notes(points: Sequence[Point], state: str) -> list[str]:
    """How many points stand how, and the best one so far."""
    counts = Counter(_state(point, state) for point in points)
    reported = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    best = min((point for point in points if is_number(_loss(point))), key=_loss, default=None)
    if best is None:
        return [f"a sweep of {len(points)} points: {reported}", "no step was measured"]
    words = _arguments(best)
    where = f"{_loss(best):.4f} at step {best['last'].get('step', '?')}"
    lowest = f"lowest last loss: {where} of point {best['point']}{f' ({words})' if words else ''}"
    return [f"a sweep of {len(points)} points: {reported}", lowest]


def sweep_section(points: Sequence[Point], state: str) -> dict[str, Any]:
    """A row a point. ``state`` is that of the whole job, for points of which no end is recorded."""
    rate = rate_column([point["last"] or {} for point in points])
    rows = [_row(point, state, rate) for point in points]
    return {"title": "Points of the sweep", "columns": [*COLUMNS, rate, "restarts"], "rows": rows}


def sweep_charts(points: Sequence[Point]) -> list[dict[str, Any]]:
    """The losses of the points over their steps; of many points of those that are lowest in the end."""
    drawn = [point for point in points if len(_curve(point)) > 1 and is_number(_loss(point))]
    best = sorted(sorted(drawn, key=_loss)[:COLORS], key=lambda point: int(point["point"]))
    if not best:
        return []
    title = "Loss" if len(best) == len(drawn) else f"Loss of the {len(best)} lowest of {len(drawn)} points"
    series = [{"label": f"{point['point']}: {_arguments(point)}", "points": _curve(point)} for point in best]
    return [{"title": title, "x_label": X_LABEL, "y_label": "loss", "series": series, "stacked": False}]


def _row(point: Point, state: str, rate: str) -> dict[str, Any]:
    last = point["last"] or {}
    losses = [loss for _step, loss in _curve(point)]
    speed, total = rate_of(last)[0], last.get("max_steps")
    return {
        "point": point["point"],
        "arguments": _arguments(point),
        "state": _state(point, state),
        "step": f"{_counted(last['step'])}{f' of {_counted(total)}' if total else ''}" if "step" in last else None,
        "loss": _shown(last.get("loss")),
        "lowest loss": _shown(min(losses, default=None)),
        rate: None if speed is None else quantity(speed),
        "restarts": point["restarts"] or None,
    }


def _state(point: Point, state: str) -> str:
    """A point without a record of its end runs or waits while the job does; else it shared the job's end."""
    if point["state"] or state != RUNNING:
        return str(point["state"] or state)
    return RUNNING if point["last"] else WAITING


def _curve(point: Point) -> list[list[float]]:
    return [[one["step"], one["loss"]] for one in point["curve"] if is_number(one.get("loss"))]


def _loss(point: Point) -> Any:
    return (point["last"] or {}).get("loss")


def _counted(steps: object) -> str:
    return f"{steps:,}" if isinstance(steps, int) else str(steps)


def _shown(loss: object) -> str | None:
    return f"{loss:.4f}" if isinstance(loss, (int, float)) else None


def _arguments(point: Point) -> str:
    return shlex.join(point["arguments"] or ())
