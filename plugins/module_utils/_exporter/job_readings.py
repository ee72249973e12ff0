# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Jobs of this node as they are now: those that run, and those that ended a short while ago.

The account of a job writes most of what is read here: of it only numbers are taken, from the end of a regular file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._job.paths import NAME, JobPaths
from .._monitoring.json_lines import mapping_of, object_of
from .._monitoring.state import read_worker_group
from .._monitoring.status import read_status
from .._monitoring.worker_group import RUNNING
from .._node.account_directory import acting_as_owner
from .._node.commands import Run
from .._node.regular_file import read_end
from .._node.systemd_units import ACTIVE

UNITS = "gaudi3-scale-job-*.service"
# Of a job that has ended: longer than an alert waits, shorter than anyone looks for it here.
SHOWN_SECONDS = 3600.0
# A node may have run more jobs than anyone counts.
MOST_JOBS = 32
# The last line of a step and the last of a checkpoint: some hundred lines.
_END_BYTES = 1 << 17


@dataclass(frozen=True)
class JobReading:
    """``step`` and ``checkpoint`` are the last lines of their kind, empty on a node that has not rank 0."""

    name: str
    state: str
    started: float | None = None
    restarts: int = 0
    step: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] = field(default_factory=dict)


def read_jobs(run: Run, state_directory: str, log_directory: str, now: float) -> list[JobReading]:
    """By name."""
    running = _running(run)
    found = []
    for name in _names(state_directory, running, now):
        paths = JobPaths(name, state_directory, log_directory)
        group = read_worker_group(paths, run)
        if group.state == RUNNING or (group.ended or 0) > now - SHOWN_SECONDS:
            found.append(_reading(paths, group.state, group.started))
    return found


def _running(run: Run) -> set[str]:
    """By one question, however many jobs there were."""
    said = run(["systemctl", "show", UNITS, "--property", "Id,ActiveState"]).stdout
    units = [dict(line.split("=", 1) for line in block.splitlines() if "=" in line) for block in said.split("\n\n")]
    names = (unit["Id"] for unit in units if unit.get("ActiveState") in ACTIVE and unit.get("Id"))
    return {name.removeprefix("gaudi3-scale-job-").removesuffix(".service") for name in names}


def _names(state_directory: str, running: set[str], now: float) -> Sequence[str]:
    """Those that run, and of the others the newest that may have ended lately."""
    places = Path(state_directory, "control")
    try:
        known = [place for place in places.iterdir() if NAME.fullmatch(place.name)]
    except OSError:
        return []
    ended = {}
    for place in known:
        try:
            ended[place.name] = Path(JobPaths(place.name, state_directory).ended).lstat().st_mtime
        except OSError:
            # It has not ended, or its account is gone.
            ended[place.name] = place.lstat().st_mtime
    lately = {name for name, time in ended.items() if time > now - SHOWN_SECONDS}
    newest = sorted(lately | (running & {*ended}), key=lambda name: (name in running, ended[name]), reverse=True)
    return sorted(newest[:MOST_JOBS])


def _reading(paths: JobPaths, state: str, started: float | None) -> JobReading:
    with acting_as_owner(paths.logs):
        text = read_end(paths.metrics, _END_BYTES) or ""
    lines = [line for line in (object_of(one.encode()) for one in text.splitlines()[::-1]) if line]
    last = {kind: next((line for line in lines if line.get("kind") == kind), {}) for kind in ("step", "checkpoint")}
    with acting_as_owner(paths.directory):
        restarts = read_status(paths).restarts
    return JobReading(paths.name, state, started, restarts, last["step"], last["checkpoint"])


def share_of_data(step: Mapping[str, Any]) -> float | None:
    """The part of a step in which its ranks waited for data."""
    seconds = mapping_of(step.get("seconds"))
    whole, data = number(seconds.get("step")), number(seconds.get("data"))
    return None if not whole or data is None else data / whole


def number(value: object) -> float | None:
    """As it may be drawn; None for what is none, or is not finite."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if abs(value) < 1e18 and not math.isnan(value) else None
