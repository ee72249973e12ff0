# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Starting and stopping a job through Slurm, and finding one that another host submitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Mapping

from .._errors import GaudiError
from .._follow.state import read_worker_group
from .._follow.worker_group import RUNNING, WorkerGroup
from .._follow.worker_group_slurm import slurm_jobs_of, slurm_worker_group
from .._job.description import SLURM
from .._job.difference import description_differences, refuse_difference
from .._job.engines.slurm import comment, slurm_name
from .._job.engines.slurm_jobs import cancel, description_of, find, submit_once
from .._job.paths import JobPaths
from .._job.plan import Job, describe
from .._node.account_directory import acting_as_owner
from .._node.commands import Run
from .._node.job_user import account
from .._node.json_file import read_json
from .._node.rendered_files import WantedFile, pending, write
from .directories import let_read, make_control
from .plan import NodePlan, description_file

UNREADABLE = "its description cannot be read from Slurm by this user"


def find_worker_group(job: Job, paths: JobPaths, run: Run) -> WorkerGroup:
    """The worker group as it stands here, or, where nothing runs here, the job that Slurm has under this name."""
    worker_group = read_worker_group(paths, run)
    if worker_group.state == RUNNING or job.engine != SLURM or job.host not in job.starting_hosts:
        return worker_group
    alive = find(slurm_name(paths), job.user, run)
    if not alive:
        return worker_group
    return slurm_worker_group(alive, _description(job, alive[0].array, alive[0].comment, run), False)


def _description(job: Job, number: str, remark: str, run: Run) -> Mapping[str, object]:
    if remark == comment(job):
        return describe(job)
    return description_of(number, run) or {**describe(job), "description": UNREADABLE}


def start_slurm(job: Job, paths: JobPaths, plan: NodePlan, run: Run) -> None:
    """Submit the job. What is kept here is written last: a job that was submitted is found by its name without it."""
    script = plan.files[0]
    for change in pending([script]):
        write(change)
    # sbatch reads it as the account.
    let_read(paths, account(job.user).pw_gid)
    with acting_as_owner(paths.directory):
        for ended in Path(paths.directory).glob("point-*/ended.json"):
            ended.unlink()
    stays = submit_once(script.path, slurm_name(paths), comment(job), job.user, run)
    if stays.comment != comment(job):
        found = _description(job, stays.array, stays.comment, run)
        raise refuse_difference(job.name, description_differences(found, describe(job)))
    _remember(job, paths, stays.array)


def remember_found(job: Job, paths: JobPaths, run: Run) -> None:
    """A job that another host submitted is from now on known here, too, also after Slurm's queue has let it go."""
    if read_json(paths.slurm_job) is None:
        for known in slurm_jobs_of(paths, job.user, run)[:1]:
            _remember(job, paths, known.array)


def _remember(job: Job, paths: JobPaths, number: str) -> None:
    make_control(paths, account(job.user).pw_gid)
    note = WantedFile(paths.slurm_job, json.dumps({"job": number}) + "\n", mode=0o600)
    for change in pending([note, description_file(job, paths)]):
        write(change)


def request_stop(paths: JobPaths) -> None:
    """Leave word that the job is to end."""
    Path(paths.control).mkdir(mode=0o750, parents=True, exist_ok=True)
    Path(paths.stop_requested).touch()


def stop_slurm(paths: JobPaths, user: str, grace: float, run: Run) -> None:
    """End the job in Slurm, and make sure of it."""
    alive = [job for job in slurm_jobs_of(paths, user, run) if job.alive]
    request_stop(paths)
    try:
        cancel(sorted({job.array for job in alive}, key=int), grace, run)
    except GaudiError as error:
        raise GaudiError(f"job {paths.name} could not be stopped: {error}", **error.facts) from error
