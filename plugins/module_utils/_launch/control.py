# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Starting one node's worker group of a job, or seeing that the node could."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from .._follow.worker_group import ABSENT, RUNNING
from .._job.description import SLURM
from .._job.engines.torchrun import checkpoint_remarks
from .._job.job_secrets import command_remarks, shown_differences
from .._job.paths import JobPaths
from .._job.plan import Job
from .._node.commands import Run
from .._node.lock import exclusive
from .._node.rendered_files import pending
from .._quarantine.mark import refuse_quarantined
from .begin import begin, install_rank
from .card_groups import group_remarks
from .control_slurm import remember_found
from .directories import check_places, make_directories
from .launch import AS_DESCRIBED, KEEP, Launch, StartOptions, decided, inspected
from .node_check import check_node
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
    before = decided(job, paths, run, options)
    launch = partial(inspected, job, paths, run, options.kernel_root)
    running = before.worker_group.state == RUNNING
    if options.check_mode:
        return _started(launch(before), run, check_mode=True)
    if before.action == KEEP:
        if job.engine == SLURM and running:
            remember_found(job, paths, run)
        return _kept(launch(before))
    check_node(job, paths, run, running=running, kernel_root=options.kernel_root, library=before.library)
    check_places(job, paths)
    with exclusive(f"job-{job.name}", LOCK_SECONDS, directory=paths.state_directory, remedy="wait for it to finish"):
        return _started(launch(decided(job, paths, run, options, before)), run)


def _started(launch: Launch, run: Run, *, check_mode: bool = False) -> dict[str, object]:
    """Apply the launch. The result has the worker group as it will stand, in check mode too."""
    if launch.decision.action == KEEP:
        return _kept(launch)
    changes = pending(launch.plan.files)
    result = worker_group_result(
        launch.paths,
        RUNNING,
        changed=True,
        launch=launch.shown,
        library=launch.library,
        diff=shown_differences(changes, launch.paths),
    )
    return result if check_mode else {**result, "run": begin(launch, changes, run)}


def _kept(launch: Launch) -> dict[str, object]:
    found = launch.decision.worker_group
    return worker_group_result(
        launch.paths, found.state, changed=False, launch=launch.shown, run=found.launch, library=found.library
    )


def prepare(job: Job, paths: JobPaths, run: Run, options: StartOptions = AS_DESCRIBED) -> dict[str, object]:
    """See that this node has what the worker group needs, and make its directories; starts nothing.

    What refuses a start refuses this, so that a job begins on no node before it can on all.
    """
    remarks = [
        *group_remarks(job, options.kernel_root),
        *checkpoint_remarks(job),
        *command_remarks(job.command),
    ]
    return {**_prepared(job, paths, run, options), "remarks": remarks}


def _prepared(job: Job, paths: JobPaths, run: Run, options: StartOptions) -> dict[str, object]:
    decision = decided(job, paths, run, options)
    launch = inspected(job, paths, run, options.kernel_root, decision)
    if decision.action == KEEP:
        return _kept(launch)
    found = decision.worker_group
    running = found.state == RUNNING
    # What runs here goes on, and is found and followed as before.
    if not running:
        refuse_quarantined()
    missing = [path for path in (paths.directory, paths.logs, paths.ranks) if not Path(path).is_dir()]
    if not options.check_mode:
        check_node(job, paths, run, running=running, kernel_root=options.kernel_root, library=decision.library)
        check_places(job, paths)
        make_directories(job, paths, launch.site.recipe_setting)
        install_rank(job, paths)
    # What is to begin anew is nothing that other nodes could join.
    state = PREPARED if found.state == ABSENT or options.restart else found.state
    return worker_group_result(paths, state, changed=bool(missing), launch=launch.shown, library=launch.library)
