# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Starting one node's worker group of a job, or seeing that the node could."""

from __future__ import annotations

from pathlib import Path
from typing import Sequence

from .._follow.worker_group import ABSENT, RUNNING
from .._job.cards_in_use import choosing
from .._job.description import SLURM
from .._job.engines.torchrun import checkpoint_remarks
from .._job.job_secrets import command_remarks, shown_differences
from .._job.paths import JobPaths
from .._job.plan import Job
from .._node.commands import Run
from .._node.lock import exclusive
from .._node.rendered_files import FileChange, pending
from .._quarantine.mark import refuse_quarantined
from .begin import begin
from .card_groups import group_remarks
from .control_slurm import remember_found
from .directories import check_places, make_directories
from .launch import AS_DESCRIBED, KEEP, Launch, StartOptions, decided_again, inspect, settled
from .node_check import check_node
from .node_programs import ENTER, RANK, install
from .part import is_alone, offer
from .stop import worker_group_result

# State of a worker group on a node that has what it needs, while nothing runs there.
PREPARED = "prepared"
# Longer than a start takes, which may have to stop a job first.
LOCK_SECONDS = 300.0


def start(job: Job, paths: JobPaths, run: Run, options: StartOptions = AS_DESCRIBED) -> dict[str, object]:
    """Bring the worker group to running, or leave one that ended well; see :func:`launch.decide`.

    On a node that the engine reaches by itself from the first one it is only prepared.
    """
    if job.host not in job.starting_hosts:
        return prepare(job, paths, run, options)
    launch = inspect(job, paths, run, options, may_choose=is_alone(job))
    job, running = launch.job, launch.worker_group.state == RUNNING
    if launch.action == KEEP:
        if job.engine == SLURM and running and not options.check_mode:
            remember_found(job, paths, run)
        return _kept(launch)
    if options.check_mode:
        return _started(launch, pending(launch.plan.files))
    check_node(job, paths, run, launch.site, running=running)
    check_places(job, paths)
    with exclusive(f"job-{job.name}", LOCK_SECONDS, directory=paths.state_directory, remedy="wait for it to finish"):
        launch = decided_again(launch, run, options)
        if launch.action == KEEP:
            return _kept(launch)
        # Until the unit runs, which is what keeps them for it.
        with choosing(paths.state_directory):
            launch = settled(launch, run)
            changes = pending(launch.plan.files)
            return {**_started(launch, changes), "run": begin(launch, changes, run)}


def _started(launch: Launch, changes: Sequence[FileChange]) -> dict[str, object]:
    """The worker group as it will stand."""
    return worker_group_result(
        launch.paths,
        RUNNING,
        changed=True,
        launch=launch.shown,
        library=launch.library,
        diff=shown_differences(changes, launch.paths),
    )


def _kept(launch: Launch) -> dict[str, object]:
    found = launch.worker_group
    return worker_group_result(
        launch.paths, found.state, changed=False, launch=launch.shown, run=found.launch, library=found.library
    )


def prepare(job: Job, paths: JobPaths, run: Run, options: StartOptions = AS_DESCRIBED) -> dict[str, object]:
    """See that this node has what the worker group needs, and make its directories; starts nothing.

    What refuses a start refuses this, so that a job begins on no node before it can on all.
    """
    launch = inspect(job, paths, run, options, may_choose=True)
    job, found = launch.job, launch.worker_group
    running = found.state == RUNNING
    remarks = [
        *group_remarks(job, launch.site.settings, options.kernel_root),
        *checkpoint_remarks(job),
        *command_remarks(job.command),
    ]
    goes_on = launch.action == KEEP or (running and job.allotted == found.allotted)
    own_port = found.allotted.rendezvous_port if running else 0
    offered = offer(job, launch.site.part, paths, run, runs=goes_on, own_port=own_port)
    told = {"remarks": remarks, "offer": offered}
    if launch.action == KEEP:
        return {**_kept(launch), **told}
    # What runs here goes on, and is found and followed as before.
    if not running:
        refuse_quarantined()
    missing = [path for path in (paths.directory, paths.logs, paths.ranks) if not Path(path).is_dir()]
    if not options.check_mode:
        remarks += check_node(job, paths, run, launch.site, running=running, is_open=True)
        check_places(job, paths)
        make_directories(job, paths, launch.site.recipe_setting)
        # Also where the engine gets by itself: its ranks begin as this program.
        if job.is_bound:
            install(paths.rank_programs, RANK)
        if launch.site.entry:
            install(paths.rank_programs, ENTER)
    # What is to begin anew is nothing that other nodes could join.
    state = PREPARED if found.state == ABSENT or options.restart else found.state
    result = worker_group_result(paths, state, changed=bool(missing), launch=launch.shown, library=launch.library)
    return {**result, **told}
