# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How one node's share of a job stands: from systemd, from what its unit recorded, and from its logs."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Mapping, Sequence

from .commands import Run
from .engine_slurm import slurm_name
from .errors import GaudiError
from .job_description import MPIRUN, SLURM
from .job_failure import NO_MEMORY, RankFailure, agent_failure, lost_node
from .job_paths import JobPaths
from .job_status import read_status
from .json_file import read_json
from .mpirun_failure import mpirun_failure
from .rank_logs import attempt_directory, tail, torchrun_failures
from .slurm_jobs import CANCELLED, COMPLETED, SlurmJob, find, state_of

ABSENT = "absent"
RUNNING = "running"
SUCCEEDED = "succeeded"
FAILED = "failed"
STOPPED = "stopped"
# What systemd calls states in which processes of the unit are there.
ACTIVE = ("active", "activating", "deactivating", "reloading", "refreshing")
POLL_S = 0.5


@dataclass(frozen=True)
class Share:
    """``description`` None: no such job here. Times are Unix time; ``result`` is systemd's word for the end, or what
    Slurm calls the job's state.

    ``exit_code`` is torchrun's, negative for a signal; None where nothing was recorded. ``launch`` names the run that
    supervisors of several nodes make together.
    """

    state: str
    description: Mapping[str, object] | None = None
    started: float | None = None
    ended: float | None = None
    result: str | None = None
    exit_code: int | None = None
    launch: str = ""


def read_share(paths: JobPaths, run: Run) -> Share:
    """The share as it stands now."""
    description = read_json(paths.description)
    if description is None:
        return Share(ABSENT)
    if description.get("engine") == SLURM:
        known = slurm_jobs_of(paths, str(description.get("user")), run)
        if known:
            return slurm_share(known, description, Path(paths.stop_requested).exists())
    begun = read_json(paths.started) or {}
    started, launch = _time(begun), str(begun.get("launch", ""))
    if description.get("engine") != SLURM and unit_is_active(paths.unit, run):
        return Share(RUNNING, description, started, launch=launch)
    stopped = Path(paths.stop_requested).exists()
    ended = _recorded_end(paths, description)
    if ended is None:
        return Share(STOPPED if stopped else FAILED, description, started, launch=launch)
    return Share(
        state=_state_of_end(paths, description, ended, stopped),
        description=description,
        started=started,
        launch=launch,
        ended=_time(ended),
        result=str(ended.get("result")),
        exit_code=_exit_code(ended),
    )


def _state_of_end(
    paths: JobPaths, description: Mapping[str, object], ended: Mapping[str, object], stopped: bool
) -> str:
    # mpirun has status 0 also where its ranks ended well because they were told to.
    if stopped and description.get("engine") == MPIRUN:
        return STOPPED
    # A supervisor knows how the whole job ended, which this node may have left before.
    return read_status(paths).outcome or ended_state(ended, stopped)


def _recorded_end(paths: JobPaths, description: Mapping[str, object]) -> Mapping[str, object] | None:
    """What was recorded at the end; of a sweep's points one that failed, else the last. None where one is missing."""
    slurm = description.get("slurm")
    points = len(slurm.get("array") or ()) if isinstance(slurm, Mapping) else 0
    directories = [f"{paths.directory}/point-{number}" for number in range(points)]
    records = [read_json(f"{place}/ended.json") for place in directories] if points else [read_json(paths.ended)]
    known = [record for record in records if record is not None]
    if len(known) < len(records):
        return None
    return max(known, key=lambda record: (ended_state(record, False) == FAILED, _time(record) or 0.0))


def slurm_jobs_of(paths: JobPaths, user: str, run: Run) -> tuple[SlurmJob, ...]:
    """The job in Slurm, or the points of its array; empty where Slurm does not know it any more."""
    number = (read_json(paths.slurm_job) or {}).get("job")
    name = slurm_name(paths)
    # Slurm's numbers begin anew one day, and another job then has this one.
    known = tuple(job for job in state_of(str(number), run) if job.name == name) if number else ()
    return known or find(name, user, run)


def slurm_share(jobs: Sequence[SlurmJob], description: Mapping[str, object], stop_requested: bool) -> Share:
    """What Slurm's words for one job, or for all points of a sweep, mean. A job that waits counts as one that runs."""
    alive = [job for job in jobs if job.alive]
    failed = [job for job in jobs if not job.alive and job.state != COMPLETED]
    started = min((job.started for job in jobs if job.started is not None), default=None)
    if alive:
        # Points of a sweep run while others wait.
        told = next((job for job in alive if job.state == "RUNNING"), alive[0])
        return Share(RUNNING, description, started, result=told.words)
    if not failed:
        state = SUCCEEDED
    else:
        stopped = stop_requested or all(job.state == CANCELLED for job in failed)
        state = STOPPED if stopped else FAILED
    ended = max((job.ended for job in jobs if job.ended is not None), default=None)
    return Share(state, description, started, ended, (failed or jobs)[0].state, (failed or jobs)[0].exit_code)


def ended_state(ended: Mapping[str, object], stop_requested: bool) -> str:
    """What a unit's own record of its end means."""
    if ended.get("result") == "success" and ended.get("code") == "exited" and ended.get("status") == "0":
        return SUCCEEDED
    return STOPPED if stop_requested else FAILED


def _exit_code(ended: Mapping[str, object]) -> int | None:
    """systemd tells a number for a process that exited, and the signal's name without SIG for one that was killed."""
    status = str(ended.get("status"))
    if status.isdigit():
        return int(status)
    number = getattr(signal, f"SIG{status}", None)
    return None if number is None else -int(number)


def unit_is_active(unit: str, run: Run) -> bool:
    """Whether processes of ``unit`` are there, or about to be or to go."""
    return unit_properties(unit, run, "ActiveState").get("ActiveState") in ACTIVE


def unit_properties(unit: str, run: Run, *names: str) -> dict[str, str]:
    """``systemctl show`` as a dictionary; it answers for a unit that does not exist, too."""
    done = run(["systemctl", "show", unit, "--property", ",".join(names)])
    if done.rc != 0:
        raise GaudiError(f"systemctl cannot be asked about {unit}: {done.stderr.strip()}; is systemd running here?")
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def _time(data: Mapping[str, object] | None) -> float | None:
    value = None if data is None else data.get("time")
    return float(value) if isinstance(value, (int, float)) else None


def rank_failures(paths: JobPaths) -> list[RankFailure]:
    """The ranks of this node that did not end well, the cause first."""
    log = tail(paths.agent_log) or ""
    failures = torchrun_failures(log, attempt_directory(paths.ranks) or paths.ranks)
    if failures or not log:
        return failures
    # One log for the ranks of all nodes: mpirun has brought their output to the first one.
    written = Path(paths.agent_log).stat().st_mtime
    told = mpirun_failure(log, paths.agent_log, written, read_json(paths.description) or {})
    return [] if told is None else [told]


def failure_of(paths: JobPaths, share: Share) -> RankFailure | None:
    """Why this node's share did not end well; None where it did, runs, or was only told to stop."""
    failures = rank_failures(paths) if share.state in (FAILED, STOPPED) else []
    if failures and (share.state == FAILED or failures[0].echo == 0):
        return _with_cause(failures[0], share)
    return _with_cause(_agent_failure(paths, share), share) if share.state == FAILED else None


def _agent_failure(paths: JobPaths, share: Share) -> RankFailure:
    if share.result is None:
        return lost_node(share.started or 0.0, paths.agent_log)
    log = last_log(paths)
    return agent_failure(share.exit_code or 0, share.ended or 0.0, tail(log) or "", log)


def last_log(paths: JobPaths) -> str:
    """The agent's log; where Slurm came to none, what it says itself."""
    slurms = sorted(map(str, Path(paths.logs).glob("slurm-*.log")), key=os.path.getmtime)
    return slurms[-1] if slurms and not Path(paths.agent_log).exists() else paths.agent_log


def _with_cause(failure: RankFailure, share: Share) -> RankFailure:
    if share.result != "oom-kill":
        return failure
    return replace(failure, message=f"{failure.message}; {NO_MEMORY}")
