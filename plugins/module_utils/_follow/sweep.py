# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The points of a sweep as one node knows them. Each runs as a job of its own and has directories of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Mapping, Sequence

from .._job.paths import JobPaths
from .._node.account_directory import acting_as_owner
from .._node.json_file import read_json
from .history import POINTS, course_of, lines_of_runs, thin
from .worker_group import ended_state, stop_requested

_POINT = re.compile(r"point-([0-9]{1,6})")
# What a curve has of a step; the whole of the last one is kept besides.
_DRAWN = ("step", "loss")


def arguments_of(description: Mapping[str, object]) -> list[list[str]]:
    """The further arguments of each point, in the order of their numbers; empty for a job that is no sweep."""
    slurm = description.get("slurm")
    array = slurm.get("array") if isinstance(slurm, Mapping) else None
    points = array if isinstance(array, (list, tuple)) else ()
    return [list(map(str, words)) if isinstance(words, (list, tuple)) else [] for words in points]


def logged_points(paths: JobPaths) -> dict[int, JobPaths]:
    """The points that have logs on this node, by their numbers."""
    found = (_POINT.fullmatch(path.name) for path in Path(paths.logs).glob("point-*") if path.is_dir())
    return {number: paths.of_point(number) for number in sorted(int(match[1]) for match in found if match)}


def read_sweep(paths: JobPaths, limit: int = POINTS) -> list[dict[str, Any]]:
    """What each point has measured, with ``limit`` points of all curves together; empty for a job that is no sweep."""
    arguments = arguments_of(read_json(paths.description) or {})
    with acting_as_owner(paths.logs):
        numbers = sorted({*range(len(arguments)), *logged_points(paths)})
    share = max(4, limit // max(1, len(numbers)))
    return [_point(paths, number, arguments[number : number + 1], share) for number in numbers]


def _point(paths: JobPaths, number: int, arguments: Sequence[list[str]], limit: int) -> dict[str, Any]:
    with acting_as_owner(paths.directory):
        ended = read_json(paths.of_point(number).ended)
    runs = course_of(lines_of_runs(paths, f"point-{number}/metrics.jsonl"))
    points = [point for run in runs for point in run["points"]]
    return {
        "point": number,
        "arguments": arguments[0] if arguments else None,
        "state": None if ended is None else ended_state(ended, stop_requested(paths)),
        "curve": [{key: point[key] for key in _DRAWN if key in point} for point in thin(points, limit)],
        "last": next((run["last"] for run in reversed(runs) if run["last"]), None),
        "restarts": max(0, len(runs) - 1),
    }
