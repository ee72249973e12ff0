# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The points of a sweep as one node knows them. Each runs as a job of its own and has directories of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Mapping, Sequence

from ..job.paths import JobPaths
from ..node.json_file import read_json
from .history import POINTS, course_of, thin
from .share import ended_state

_POINT = re.compile(r"point-(\d+)")
# What a curve has of a step; the whole of the last one is kept besides.
_DRAWN = ("step", "loss")


def arguments_of(description: Mapping[str, object]) -> list[list[str]]:
    """The further arguments of each point, in the order of their numbers; empty for a job that is no sweep."""
    slurm = description.get("slurm")
    array = slurm.get("array") if isinstance(slurm, Mapping) else None
    return [list(map(str, words)) for words in array] if isinstance(array, (list, tuple)) else []


def logged_points(paths: JobPaths) -> dict[int, JobPaths]:
    """The points that have logs on this node, by their numbers."""
    found = (_POINT.fullmatch(path.name) for path in Path(paths.logs).glob("point-*") if path.is_dir())
    return {number: paths.of_point(number) for number in sorted(int(match[1]) for match in found if match)}


def read_sweep(paths: JobPaths, limit: int = POINTS) -> list[dict[str, Any]]:
    """What each point has measured, with ``limit`` points of all curves together; empty for a job that is no sweep."""
    arguments = arguments_of(read_json(paths.description) or {})
    numbers = sorted({*range(len(arguments)), *logged_points(paths)})
    share = max(4, limit // max(1, len(numbers)))
    return [_point(paths, number, arguments[number : number + 1], share) for number in numbers]


def _point(paths: JobPaths, number: int, arguments: Sequence[list[str]], limit: int) -> dict[str, Any]:
    place = paths.of_point(number)
    ended = read_json(place.ended)
    runs = course_of([*sorted(Path(paths.earlier).glob(f"*/point-{number}/metrics.jsonl")), Path(place.metrics)])
    points = [point for run in runs for point in run["points"]]
    return {
        "point": number,
        "arguments": arguments[0] if arguments else None,
        "state": None if ended is None else ended_state(ended, Path(paths.stop_requested).exists()),
        "curve": [{key: point[key] for key in _DRAWN if key in point} for point in thin(points, limit)],
        "last": next((run["last"] for run in reversed(runs) if run["last"]), None),
        "restarts": max(0, len(runs) - 1),
    }
