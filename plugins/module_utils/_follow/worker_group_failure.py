# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why one node's worker group of a job did not end well, from its logs."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Mapping

from .._job.description import SLURM
from .._job.engines.mpirun_failure import mpirun_failure
from .._job.engines.slurm_failure import is_of_slurm, slurm_failure
from .._job.failure import RankFailure, agent_failure, lost_node
from .._job.followers import with_others
from .._job.kernel_reason import with_kernel_reason
from .._job.paths import JobPaths
from .._job.rank_logs import agent_words, attempt_directory, last_words, tail, torchrun_failures
from .._job.reported_failure import CAUSE
from .._node.account_directory import acting_as_owner
from .._node.json_file import read_json
from .sweep import logged_points
from .worker_group import FAILED, STOPPED, WorkerGroup

# As systemd and Slurm call an end for want of memory.
_NO_MEMORY = ("oom-kill", "OUT_OF_MEMORY")


def rank_failures(paths: JobPaths) -> list[RankFailure]:
    """The ranks of this node that did not end well, the cause first.

    Of a sweep those of the point that failed last, since the logs of a sweep before it may be there, too.
    """
    description = read_json(paths.description) or {}
    with acting_as_owner(paths.logs):
        found = [_rank_failures(place, description) for place in (paths, *logged_points(paths).values())]
    return max(found, key=lambda failures: failures[0].time if failures else 0.0)


def _rank_failures(paths: JobPaths, description: Mapping[str, object]) -> list[RankFailure]:
    place, written = newest_agent_log(paths)
    log = agent_words(place) or ""
    failures = torchrun_failures(log, attempt_directory(paths.ranks) or paths.ranks)
    if description.get("engine") == SLURM:
        failures = _with_slurms(failures, paths)
    if failures or not log:
        return failures
    # One log for the ranks of all nodes: mpirun has brought their output to the first one.
    reported = mpirun_failure(last_words(place), place, written, description)
    return [] if reported is None else [reported]


def _with_slurms(failures: list[RankFailure], paths: JobPaths) -> list[RankFailure]:
    """``failures`` with what Slurm says of the job, first where it comes before what the ranks say."""
    written, output = _slurm_output(paths)
    reported = slurm_failure(tail(output) or "", written, output) if output else None
    if reported is None:
        return failures
    is_known = failures and failures[0].echo == CAUSE and not is_of_slurm(reported)
    return [*failures, reported] if is_known else [with_others(reported, failures), *failures]


def _slurm_output(paths: JobPaths) -> tuple[float, str]:
    """When Slurm and its tasks wrote last for the job's newest run, and where; "" where there is none."""
    return max(
        ((os.lstat(path).st_mtime, str(path)) for path in Path(paths.logs).glob("slurm-*.log")), default=(0.0, "")
    )


def newest_agent_log(paths: JobPaths) -> tuple[str, float]:
    """Where the agent of the last run wrote and when: a unit's log is root's, that of a job in Slurm the account's."""
    written = {}
    for place in (paths.agent_log, paths.batch_agent_log) if paths.point is None else (paths.batch_agent_log,):
        with contextlib.suppress(OSError):
            written[place] = os.lstat(place).st_mtime
    newest = max(written, key=written.__getitem__, default=paths.agent_log)
    return newest, written.get(newest, 0.0)


def failure_of(paths: JobPaths, worker_group: WorkerGroup) -> RankFailure | None:
    """Why this node's worker group did not end well; None where it did, runs, or was only told to stop."""
    failures = rank_failures(paths) if worker_group.state in (FAILED, STOPPED) else []
    if failures and (worker_group.state == FAILED or failures[0].echo == CAUSE):
        return _with_cause(failures[0], paths, worker_group)
    if worker_group.state != FAILED:
        return None
    return _with_cause(_agent_failure(paths, worker_group), paths, worker_group)


def _agent_failure(paths: JobPaths, worker_group: WorkerGroup) -> RankFailure:
    if worker_group.result is None:
        return lost_node(worker_group.started or 0.0, paths.agent_log)
    with acting_as_owner(paths.logs):
        log = last_log(paths)
        return agent_failure(worker_group.exit_code or 0, worker_group.ended or 0.0, tail(log) or "", log)


def last_log(paths: JobPaths) -> str:
    """The agent's log; where Slurm came to none, what it says itself."""
    agent, written = newest_agent_log(paths)
    _written, output = _slurm_output(paths)
    return output if output and not written else agent


def _with_cause(failure: RankFailure, paths: JobPaths, worker_group: WorkerGroup) -> RankFailure:
    with acting_as_owner(paths.logs):
        return with_kernel_reason(failure, worker_group.result in _NO_MEMORY, paths.logs)
