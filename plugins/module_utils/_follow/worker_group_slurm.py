# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A job's worker group as Slurm knows it, whose words count for all nodes of a job that it started."""

from __future__ import annotations

from typing import Mapping, Sequence

from .._job.description import ANY
from .._job.engines.slurm import slurm_name
from .._job.engines.slurm_job import CANCELLED, COMPLETED, SlurmJob
from .._job.engines.slurm_jobs import find, node_names, state_of
from .._job.paths import JobPaths
from .._node.commands import Run
from .._node.json_file import read_json
from .worker_group import FAILED, RUNNING, STOPPED, SUCCEEDED, WorkerGroup


def slurm_jobs_of(paths: JobPaths, user: str, run: Run) -> tuple[SlurmJob, ...]:
    """The job in Slurm, or the points of its array; empty where Slurm does not know it any more."""
    number = (read_json(paths.slurm_job) or {}).get("job")
    name = slurm_name(paths)
    # Slurm's numbers begin anew one day, and another job then has this one.
    known = tuple(job for job in state_of(str(number), run) if job.name == name) if number else ()
    return known or find(name, user, run)


def chosen_nodes(jobs: Sequence[SlurmJob], description: Mapping[str, object], run: Run) -> tuple[str, ...]:
    """The nodes that ranks of the job are or were on last, where Slurm chooses them; else empty."""
    options = description.get("slurm")
    return node_names(jobs, run) if isinstance(options, Mapping) and options.get("nodes") == ANY else ()


def slurm_worker_group(
    jobs: Sequence[SlurmJob], description: Mapping[str, object], stop_requested: bool
) -> WorkerGroup:
    """What Slurm's words for one job, or for all points of a sweep, mean. A job that waits counts as one that runs."""
    alive = [job for job in jobs if job.alive]
    failed = [job for job in jobs if not job.alive and job.state != COMPLETED]
    started = min((job.started for job in jobs if job.started is not None), default=None)
    if alive:
        # Points of a sweep run while others wait.
        reported = next((job for job in alive if job.state == "RUNNING"), alive[0])
        return WorkerGroup(RUNNING, description, started, result=reported.words)
    if not failed:
        state = SUCCEEDED
    else:
        stopped = stop_requested or all(job.state == CANCELLED for job in failed)
        state = STOPPED if stopped else FAILED
    ended = max((job.ended for job in jobs if job.ended is not None), default=None)
    return WorkerGroup(state, description, started, ended, (failed or jobs)[0].state, (failed or jobs)[0].exit_code)
