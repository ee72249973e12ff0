# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Jobs of this node as they are now: those that run, and those that ended a short while ago.

The account of a job writes most of what is read here, in regular files: of it numbers are taken, and one of three words
for how the job ended, and no other text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._errors import GaudiError
from .._follow.json_lines import mapping_of
from .._follow.state import read_worker_group
from .._follow.status import Status, read_status
from .._follow.worker_group import ABSENT, RUNNING, WorkerGroup
from .._job.paths import NAME, UNITS, JobPaths, job_of_unit
from .._node.account_directory import acting_as_owner
from .._node.commands import Run
from .._node.systemd_units import active_units
from .job_lines import JobLines, follow, number

# Of a job that has ended: longer than an alert waits, shorter than anyone looks for it here.
SHOWN_SECONDS = 3600.0
# Of its steps: each Prometheus has heard of the last one by then. Longer would be wrong, since a job of this name may
# have begun again on other nodes, which nobody tells this one.
STEPS_SHOWN_SECONDS = 120.0
# A node may have run more jobs than anyone counts.
MOST_JOBS = 32


@dataclass(frozen=True)
class JobReading:
    """``lines`` are what is known here of the job's steps, and are told where ``has_rank_0``: else they are old.

    ``modules`` are the cards that a job which runs has here.
    """

    name: str
    state: str
    started: float | None = None
    restarts: int = 0
    has_rank_0: bool = False
    lines: JobLines = field(default_factory=JobLines)
    modules: tuple[int, ...] = ()

    @property
    def told(self) -> JobLines:
        return self.lines if self.has_rank_0 else JobLines()


def read_jobs(
    run: Run, state_directory: str, log_directory: str, now: float, before: Sequence[JobReading] = ()
) -> list[JobReading]:
    """By name. ``before`` is what this returned at the last look, from which each job's lines are read on."""
    running = {job_of_unit(unit) for unit in active_units(run, UNITS)}
    known = {job.name: job.lines for job in before}
    found = []
    for name in _names(state_directory, log_directory, running, now):
        paths = JobPaths(name, state_directory, log_directory)
        group = _group(paths, run)
        if group.state == RUNNING or (group.ended or 0) > now - SHOWN_SECONDS:
            found.append(_reading(paths, group, now, known.get(name, JobLines())))
    return found


def _names(state_directory: str, log_directory: str, running: set[str], now: float) -> Sequence[str]:
    """Those that run, and of the others the newest that may have ended lately, or tell their steps still: who runs them
    may be Slurm, which is asked for these alone."""
    places = Path(state_directory, "control")
    try:
        known = [place for place in places.iterdir() if NAME.fullmatch(place.name)]
    except OSError:
        return []
    ended = {place.name: _last_heard(place, JobPaths(place.name, state_directory, log_directory)) for place in known}
    lately = {name for name, time in ended.items() if time > now - SHOWN_SECONDS}
    newest = sorted(lately | (running & {*ended}), key=lambda name: (name in running, ended[name]), reverse=True)
    return sorted(newest[:MOST_JOBS])


def _last_heard(control: Path, paths: JobPaths) -> float:
    ended = _changed(Path(paths.ended))
    return ended or max(control.lstat().st_mtime, _changed(Path(paths.metrics)))


def _changed(path: Path) -> float:
    """0 where there is none, as before its end, or where its account is gone."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0


def _group(paths: JobPaths, run: Run) -> WorkerGroup:
    try:
        return read_worker_group(paths, run)
    except GaudiError:
        # Slurm does not answer: all else of this node is told nevertheless.
        return WorkerGroup(ABSENT)


def _reading(paths: JobPaths, group: WorkerGroup, now: float, before: JobLines) -> JobReading:
    with acting_as_owner(paths.directory):
        status = read_status(paths)
    has_rank_0, lines = _has_rank_0(group, status, now), before
    if has_rank_0:
        with acting_as_owner(paths.logs):
            lines = follow(paths.metrics, before)
    modules = group.modules if group.state == RUNNING else ()
    return JobReading(paths.name, group.state, group.started, status.restarts, has_rank_0, lines, modules)


def _has_rank_0(group: WorkerGroup, status: Status, now: float) -> bool:
    """Also where it had rank 0 when all was over, just now.

    Without a supervisor rank 0 stays where it began, and each start puts away the lines of the one before.
    """
    if group.state != RUNNING and (group.ended or 0) <= now - STEPS_SHOWN_SECONDS:
        return False
    if not status.time:
        return True
    if status.outcome:
        # By then no node has ranks.
        return status.members[:1] == ((group.description or {}).get("host"),)
    # One that lost the others still says that it has rank 0, while they may go on without it.
    return (group.state, status.state, status.node_rank) == (RUNNING, RUNNING, 0)


def share_of_step(step: Mapping[str, Any], part: str) -> float | None:
    """What a part of a step (docs/follow.md) was of all of it."""
    seconds = mapping_of(step.get("seconds"))
    whole, taken = number(seconds.get("step")), number(seconds.get(part))
    return None if not whole or taken is None else taken / whole
