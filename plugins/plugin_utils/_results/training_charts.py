# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The curves of a training job as charts of a report, with its restarts marked."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.history import is_number, rate_of

X_LABEL = "optimizer step"
GIB = 1 << 30
# Parts of a step from the bottom up, as docs/follow.md names them.
PARTS = ("data", "forward", "backward", "optimizer", "communication", "other")
# Of memory, likewise.
MEMORY_PARTS = ("weights", "gradients", "optimizer", "activations", "rest")
# Of more restarts than that only the lines are drawn: their labels would lie over the curve.
LABELLED_RESTARTS = 4

Run = Mapping[str, Any]
Pairs = list[list[float]]


def training_charts(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """Loss, speed, the use of the cards, the parts of a step and of memory, and what else the lines have.

    Where nothing was counted a second, a step's time stands for the speed.
    """
    points = [point for run in runs for point in run["points"]]
    means = [point for run in runs for point in run["means"]]
    restarts = _restarts(runs)
    charts = [
        _line("Loss", "loss", _pairs(points, "loss"), restarts),
        _line("Loss of held-out data", "loss", _validations(runs), restarts),
        _speed(means, restarts) or _step_time(means, restarts),
        _share_of_peak(points, restarts),
        _split(means, restarts),
        _memory(points, runs, restarts),
        _memory_parts(points, restarts),
        _line("Norm of the gradients", "before clipping", _pairs(points, "gradient_norm"), restarts),
        _line("Graphs compiled", "graphs so far", _pairs(points, "graph_compilations"), restarts, y_from_zero=True),
        _rate(points, restarts),
    ]
    return [chart for chart in charts if chart is not None]


def _line(
    title: str, y_label: str, pairs: Pairs, marks: Sequence[Mapping[str, Any]], *, y_from_zero: bool = False
) -> dict[str, Any] | None:
    if len(pairs) < 2:
        return None
    return {
        "title": title,
        "x_label": X_LABEL,
        "y_label": y_label,
        "points": pairs,
        "marks": list(marks),
        "y_from_zero": y_from_zero,
    }


def _rate(points: Sequence[Run], restarts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    pairs = [[x, 1e6 * y] for x, y in _pairs(points, "lr")]
    return _line("Learning rate", "10⁻⁶", pairs, restarts, y_from_zero=True)


def _speed(points: Sequence[Run], restarts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Of the first unit that was counted: a job's lines have the same one from its beginning to its end."""
    counted = next((unit for rate, unit in map(rate_of, points) if rate is not None), "tokens")
    pairs = _pairs(points, f"{counted}_per_second")
    size, unit = _unit(max((y for _x, y in pairs), default=0.0))
    return _line("Speed", f"{unit}{counted}/s", [[x, y / size] for x, y in pairs], restarts, y_from_zero=True)


def _step_time(points: Sequence[Run], restarts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    times = [{"step": point["step"], "taken": (point.get("seconds") or {}).get("step")} for point in points]
    pairs = [[x, 1000 * y] for x, y in _pairs(times, "taken")]
    return _line("Time of a step", "milliseconds", pairs, restarts, y_from_zero=True)


def _unit(highest: float) -> tuple[float, str]:
    """So that the numbers at the axis are short."""
    if highest >= 1e6:
        return 1e6, "million "
    return (1e3, "thousand ") if highest >= 1e4 else (1.0, "")


def _split(points: Sequence[Run], restarts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    measured = [point for point in points if is_number((point.get("seconds") or {}).get("forward"))]
    parts = [part for part in PARTS if any(is_number(point["seconds"].get(part)) for point in measured)]
    if len(measured) < 2:
        return None
    series = [
        {"label": part, "points": [[point["step"], 1000 * _or_zero(point["seconds"].get(part))] for point in measured]}
        for part in parts
    ]
    return {
        "title": "Where a step's time goes",
        "x_label": X_LABEL,
        "y_label": "milliseconds per step",
        "series": series,
        "marks": list(restarts),
    }


def _memory(points: Sequence[Run], runs: Sequence[Run], restarts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    limits = [(run["start"] or {}).get("memory_limit_bytes") for run in runs]
    known = [limit / GIB for limit in limits if isinstance(limit, (int, float))]
    limit = [{"axis": "y", "value": known[-1], "label": "limit of a card", "tone": "bad"}] if known else []
    pairs = [[x, y / GIB] for x, y in _pairs(points, "memory_bytes")]
    return _line("Memory of the fullest rank", "GiB, highest so far", pairs, [*restarts, *limit], y_from_zero=True)


def _validations(runs: Sequence[Run]) -> Pairs:
    """Of each run the last ones, as the history keeps them; of a step that was repeated the newest."""
    told = {
        line["step"]: line["validation_loss"]
        for run in runs
        for line in run["remarks"]
        if line.get("kind") == "validation" and is_number(line.get("step")) and is_number(line.get("validation_loss"))
    }
    return [[step, loss] for step, loss in sorted(told.items())]


def _share_of_peak(points: Sequence[Run], restarts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    pairs = [[x, 100 * y] for x, y in _pairs(points, "mfu")]
    return _line("Use of the cards", "% of their peak", pairs, restarts, y_from_zero=True)


def _memory_parts(points: Sequence[Run], restarts: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """From the bottom up as a training fills its memory."""
    told = [point for point in points if isinstance(point.get("memory_parts"), dict)]
    parts = [part for part in MEMORY_PARTS if any(is_number(point["memory_parts"].get(part)) for point in told)]
    if len(told) < 2 or not parts:
        return None
    series = [
        {"label": part, "points": [[point["step"], _or_zero(point["memory_parts"].get(part)) / GIB] for point in told]}
        for part in parts
    ]
    return {
        "title": "What the fullest rank's memory is used for",
        "x_label": X_LABEL,
        "y_label": "GiB",
        "series": series,
        "marks": list(restarts),
    }


def _restarts(runs: Sequence[Run]) -> list[dict[str, Any]]:
    """A mark where each run but the first went on."""
    begun = list(dict.fromkeys(_start(run) for run in runs[1:]))
    label = len(begun) <= LABELLED_RESTARTS
    return [
        {"axis": "x", "value": float(step), "label": "restart" if label else "", "tone": "plain"}
        for step in begun
        if step is not None
    ]


def _start(run: Run) -> int | None:
    start = run["start"] or {}
    first: int | None = run["points"][0]["step"] if run["points"] else None
    return int(start["step"]) if isinstance(start.get("step"), int) else first


def _pairs(points: Sequence[Run], key: str) -> Pairs:
    return [[point["step"], point[key]] for point in points if is_number(point.get(key))]


def _or_zero(value: Any) -> float:
    return float(value) if is_number(value) else 0.0
