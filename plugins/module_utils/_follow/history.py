# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The whole course of a job from its metric lines: all its runs, also those whose logs were put away, thinned."""

from __future__ import annotations

import json
import math
from collections import deque
from pathlib import Path
from typing import Any, Callable, Iterable, Mapping, Sequence

from .._job.job_secrets import masked
from .._job.paths import JobPaths
from .._node.account_directory import acting_as_owner
from .json_lines import object_of, read_lines, read_texts, weight_of
from .metrics import RATES
from .usage import read_usage

Line = Mapping[str, Any]

# Clocks of nodes may be this far apart; a job that is launched anew says the same later.
SAME_EVENT_S = 60.0
POINTS = 600
# Stretches over which speed and the parts of a step are averaged: single ones would hide what is usual.
STRETCHES = 120
# Other lines of a run that are kept: the last ones.
REMARKS = 50
EVENTS = 200
# The newest, since an account may write a line that begins one as often as it likes; an honest job that was started so
# often has more of them than its page has points.
MOST_RUNS = 1000
# Of all runs together, the end, as text, and with what each line costs as data: a hundred thousand lines as our trainer
# writes them, and no more memory where an account writes what is short as text and large as data.
MOST_LINE_BYTES = 1 << 26
# Shorter ones cost time alone.
MOST_LINES = 200_000
# Of events the end, far more than are kept.
_MOST_EVENT_BYTES, _MOST_EVENT_LINES = 1 << 22, 20 * EVENTS
# Characters of the runs that are told, the newest: a controller has the answers of all nodes, each several times over.
_MOST_TOLD = 1 << 24
# What a point has of a line.
KEPT = (
    "step",
    "time",
    "loss",
    "gradient_norm",
    *(f"{unit}_per_second" for unit in RATES),
    "mfu",
    "lr",
    "seconds",
    "memory_bytes",
    "memory_parts",
    "graph_compilations",
)
# Of these the highest and lowest points of each stretch are kept.
_SHAPES: tuple[Callable[[Line], Any], ...] = (
    lambda point: point.get("loss"),
    lambda point: rate_of(point)[0],
)


def read_history(paths: JobPaths, limit: int = POINTS) -> dict[str, Any]:
    """The runs that have lines on this node, in the order of time, and what its supervisor noted and saw."""
    present = course_of(lines_of_runs(paths, "metrics.jsonl"))
    with acting_as_owner(paths.logs):
        events = list(deque(read_lines(paths.events, _MOST_EVENT_BYTES, _MOST_EVENT_LINES), maxlen=EVENTS))
        usage = read_usage(paths)
    share = max(4, limit // max(1, len(present)))
    runs = [_thinned(run, share, STRETCHES // max(1, len(present))) for run in present]
    return {"runs": _told(runs), "events": events, "usage": usage}


def lines_of_runs(paths: JobPaths, name: str) -> list[Line]:
    """The lines in the file ``name`` of all runs whose logs are there, in their order; of too many the last."""
    found: list[list[bytes]] = []
    left, lines = MOST_LINE_BYTES, MOST_LINES
    with acting_as_owner(paths.logs):
        within = sorted(Path(paths.earlier_within).glob("*"), reverse=True)
    apart = sorted(Path(paths.earlier).glob("*"), reverse=True)
    # What is within the logs is read with the rights of whose they are: it may be a link to anything.
    of_owner = [(Path(paths.logs), paths.logs), *((logs, paths.logs) for logs in within)]
    for logs, owned in [*of_owner, *((logs, str(logs)) for logs in apart)]:
        if left <= 0 or lines <= 0:
            break
        with acting_as_owner(owned):
            texts = _newest(read_texts(str(logs / name), left, lines), left)
        left, lines = left - sum(map(weight_of, texts)), lines - len(texts)
        found.append(texts)
    lines_of = (object_of(text) for texts in reversed(found) for text in texts)
    return [line for line in lines_of if line is not None]


def _newest(texts: Iterable[bytes], left: int) -> list[bytes]:
    """Those of a file, of too many the last, as they would weigh as data."""
    kept = deque(texts)
    weight = sum(map(weight_of, kept))
    while kept and weight > left:
        weight -= weight_of(kept.popleft())
    return list(kept)


def course_of(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """The runs in metric lines that are in the order of time, as far as they belong to the present training."""
    return [run for run in current(split_runs(lines)) if run["points"] or run["start"]]


def split_runs(lines: Iterable[Line]) -> list[dict[str, Any]]:
    """Each start of the processes as a run of its own: {start, points, means, last, nodes, end, remarks}.

    A script that writes no line ``start`` begins anew where a step is not after the one before. Of more than
    ``MOST_RUNS`` the last are kept.
    """
    runs: deque[dict[str, Any]] = deque(maxlen=MOST_RUNS)
    for line in lines:
        kind = line.get("kind")
        if kind == "start":
            runs.append({**_new_run(), "start": _without_secrets(line)})
            continue
        if not runs or (kind == "step" and _is_before(line, runs[-1]["points"])):
            runs.append(_new_run())
        run = runs[-1]
        if kind == "step" and isinstance(line.get("step"), int):
            run["points"].append({key: line[key] for key in KEPT if key in line and _is_meant(key, line[key])})
            run["last"] = dict(line)
        elif kind in ("nodes", "end"):
            run[kind] = dict(line)
        elif kind != "step":
            run["remarks"].append(dict(line))
            del run["remarks"][:-REMARKS]
    return list(runs)


def current(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The runs of the training that is the present one, in the order of time, as one course.

    What was before a run that began at the beginning belongs to another training of that name. Steps that a later run
    made once more are left out of the earlier one; ``lost`` is how many they were. Of more than ``MOST_RUNS`` the
    newest are kept.
    """
    ordered = sorted(runs, key=_begun)[-MOST_RUNS:]
    fresh = [index for index, run in enumerate(ordered) if index == 0 or _first_step(run) in (None, 0)]
    course = [dict(run) for run in ordered[fresh[-1] if fresh else 0 :]]
    # The earliest step that a later run went on from.
    limit = math.inf
    for run in reversed(course):
        first = _first_step(run)
        reached = run["points"][-1]["step"] if run["points"] else 0
        run["lost"] = run.get("lost") or (max(0, reached - int(limit)) if limit != math.inf else 0)
        for curve in ("points", "means"):
            run[curve] = [point for point in run[curve] if point["step"] <= limit]
        limit = limit if first is None else min(limit, first)
    return course


def merge(histories: Sequence[Mapping[str, Any]], limit: int = POINTS) -> dict[str, Any]:
    """The course of a job from what several nodes know: rank 0 may have been on more than one, and where they share
    their log directory all of them know the same."""
    known = {_identity(run): run for history in histories for run in history["runs"]}
    runs = current(list(known.values()))
    share = max(4, limit // max(1, len(runs)))
    events = [event for history in histories for event in history["events"]]
    return {"runs": [{**run, "points": thin(run["points"], share)} for run in runs], "events": reported_once(events)}


def reported_once(events: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The events in the order of time. Each node notes what happens to the job, at about the same time."""
    kept: list[Mapping[str, Any]] = []
    newest: dict[str, float] = {}
    for event in sorted(events, key=_time):
        said = json.dumps([event.get(key) for key in ("kind", "generation", "host", "text")])
        if _time(event) - newest.get(said, float("-inf")) > SAME_EVENT_S:
            kept.append(event)
        newest[said] = _time(event)
    return kept


def thin(points: Sequence[Line], limit: int) -> list[Line]:
    """At most ``limit`` points (4 or more) of the same shape: the first, the last, and of each stretch its extremes."""
    if len(points) <= limit:
        return list(points)
    stretches = max(1, (limit - 2) // (2 * len(_SHAPES)))
    kept = {0, len(points) - 1}
    for number in range(stretches):
        indexes = range(number * len(points) // stretches, (number + 1) * len(points) // stretches)
        for shape in _SHAPES:
            values = {index: shape(points[index]) for index in indexes}
            known = {index: value for index, value in values.items() if is_number(value)}
            if known:
                kept |= {min(known, key=known.__getitem__), max(known, key=known.__getitem__)}
    return [points[index] for index in sorted(kept)]


def means(points: Sequence[Line], stretches: int) -> list[dict[str, Any]]:
    """Speed and the parts of a step, averaged over as many stretches; each has the step at its end."""
    number = min(stretches, len(points))
    cuts = [index * len(points) // number for index in range(number + 1)] if number else []
    return [_mean(points[low:high]) for low, high in zip(cuts, cuts[1:])]


def _mean(points: Sequence[Line]) -> dict[str, Any]:
    split = [point["seconds"] for point in points if isinstance(point.get("seconds"), dict)]
    # Each value once: of a user's script every point may have other parts.
    parts: dict[str, list[Any]] = {}
    for seconds in split:
        for part, value in seconds.items():
            parts.setdefault(part, []).append(value)
    rates = [f"{unit}_per_second" for unit in RATES if any(f"{unit}_per_second" in point for point in points)]
    return {
        "step": points[-1]["step"],
        **{rate: _average([point.get(rate) for point in points]) for rate in rates},
        "seconds": {part: _average(values) for part, values in parts.items()},
    }


def _average(values: Sequence[Any]) -> float | None:
    """Of those that are known, to seven digits."""
    known = [value for value in values if is_number(value)]
    return float(f"{sum(known) / len(known):.7g}") if known else None


def rate_of(line: Line) -> tuple[float | None, str]:
    """What was counted a second, and its unit; None where nothing was."""
    for unit in RATES:
        value = line.get(f"{unit}_per_second")
        if is_number(value):
            return value, unit
    return None, RATES[0]


def is_number(value: object) -> bool:
    """Whether it can be drawn: a loss that became NaN cannot."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _without_secrets(line: Line) -> Line:
    """A line ``start``; the trainer leaves secrets out of its flags, and a script of the user's may not."""
    flags = line.get("flags")
    return {**line, **({"flags": masked(flags)} if isinstance(flags, dict) else {})}


def _is_meant(key: str, value: object) -> bool:
    """A user's script may write anything."""
    if key in ("seconds", "memory_parts"):
        return isinstance(value, dict)
    if key == "mfu":
        return isinstance(value, (int, float)) and is_number(value) and 0 <= value <= 1
    return True


def _new_run() -> dict[str, Any]:
    return {"start": None, "points": [], "means": [], "last": None, "nodes": None, "end": None, "remarks": []}


def _thinned(run: Mapping[str, Any], points: int, stretches: int) -> dict[str, Any]:
    return {**run, "points": thin(run["points"], points), "means": means(run["points"], max(2, stretches))}


def _told(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The last of them that are together no longer than what is told."""
    kept: deque[Mapping[str, Any]] = deque()
    left = _MOST_TOLD
    for run in reversed(runs):
        left -= len(json.dumps(run))
        if left < 0:
            break
        kept.appendleft(run)
    return list(kept)


def _is_before(line: Line, points: Sequence[Line]) -> bool:
    step = line.get("step")
    return bool(points) and isinstance(step, int) and step <= points[-1]["step"]


def _first_step(run: Mapping[str, Any]) -> int | None:
    """The step that the run went on from: 0 for one that began anew."""
    if run["start"] is not None and isinstance(run["start"].get("step"), int):
        return int(run["start"]["step"])
    return max(0, run["points"][0]["step"] - 1) if run["points"] else None


def _identity(run: Mapping[str, Any]) -> str:
    """The line with which it begins, which has a time."""
    return json.dumps(run["start"] or next(iter(run["points"]), {}), sort_keys=True)


def _begun(run: Mapping[str, Any]) -> float:
    return _time(run["start"] or next(iter(run["points"]), {}))


def _time(line: Line) -> float:
    value = line.get("time")
    return float(value) if is_number(value) and isinstance(value, (int, float)) else 0.0
