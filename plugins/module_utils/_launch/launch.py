# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What becomes of this node's worker group of a job, as one value: what was found, what is done, what is run for it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Mapping

from .._errors import GaudiError
from .._follow.worker_group import ABSENT, RUNNING, SUCCEEDED, WorkerGroup
from .._job.difference import description_differences, refuse_difference
from .._job.paths import JobPaths
from .._job.plan import Job, describe
from .._job.supervision import launch_of
from .._node.commands import Run
from .._node.kernel_tree import kernel_tree
from .control_slurm import find_worker_group
from .library import Library, library_of
from .node_site import look_up_site
from .plan import NodePlan, Site, plan_launch, shown

KEEP = "keep"
START = "start"
RESTART = "restart"
KEY_BYTES = 32


@dataclass(frozen=True)
class StartOptions:
    """How a worker group is started, whatever the job is. ``restart``: also one that runs or ended well. ``replace``:
    end a job of this name with another description. Below ``kernel_root`` the node's cards are looked at.
    """

    restart: bool = False
    replace: bool = False
    check_mode: bool = False
    kernel_root: str = field(default_factory=kernel_tree)


AS_DESCRIBED = StartOptions()


@dataclass(frozen=True)
class Decision:
    """What to do (``KEEP``, ``START``, ``RESTART``) with a worker group as it stands. ``library`` has the supervisor
    that is to run; None where the job has none.
    """

    worker_group: WorkerGroup
    action: str
    library: Library | None


@dataclass(frozen=True)
class Launch:
    """A decision and all that was looked up for it: it is shown, or applied. ``job`` has the secret of its run."""

    job: Job
    paths: JobPaths
    decision: Decision
    site: Site

    @cached_property
    def plan(self) -> NodePlan:
        """What is run."""
        return plan_launch(self.job, self.paths, self.site)

    @cached_property
    def shown(self) -> Mapping[str, object]:
        """The same without secrets."""
        return shown(self.job, self.paths, self.site)

    @property
    def run_name(self) -> str:
        """The run that begins, which other nodes may join; empty where nodes do not know of each other."""
        return launch_of(bytes.fromhex(self.job.key)) if self.job.key else ""

    @property
    def library(self) -> str:
        """The version of the node library that runs the supervisor; empty without one."""
        return self.decision.library.version if self.decision.library else ""


def decided(job: Job, paths: JobPaths, run: Run, options: StartOptions, earlier: Decision | None = None) -> Decision:
    """Look at the worker group, and decide. ``earlier``: what was decided before the lock of a start was held.

    Raises GaudiError when a different job of this name runs.
    """
    now = _worker_group(job, paths, run, options.check_mode)
    if earlier and _begun_meanwhile(earlier.worker_group, now):
        # Who was faster has started it, and that is what we were asked for as well.
        options = replace(options, restart=False)
    action = decide(job, now, options)
    if earlier:
        return Decision(now, action, earlier.library)
    return Decision(now, action, library_of(job, run) if job.supervision else None)


def _worker_group(job: Job, paths: JobPaths, run: Run, check_mode: bool) -> WorkerGroup:
    try:
        return find_worker_group(job, paths, run)
    except GaudiError:
        # A check of a node that is not set up yet shows what would be run there all the same.
        if not check_mode:
            raise
        return WorkerGroup(ABSENT)


def _begun_meanwhile(before: WorkerGroup, now: WorkerGroup) -> bool:
    return now.state == RUNNING and (before.state != RUNNING or before.started != now.started)


def decide(job: Job, worker_group: WorkerGroup, options: StartOptions) -> str:
    """What to do with a worker group as it stands; raises GaudiError when a different job of this name runs."""
    changed = description_differences(worker_group.description or {}, describe(job))
    if worker_group.state == RUNNING and changed and not options.replace:
        raise refuse_difference(job.name, changed)
    if job.key:
        return _joining(worker_group, launch_of(bytes.fromhex(job.key)))
    if worker_group.state == RUNNING:
        return RESTART if options.restart or changed else KEEP
    if worker_group.state == SUCCEEDED and not changed and not options.restart:
        return KEEP
    return START


def _joining(worker_group: WorkerGroup, run_name: str) -> str:
    """What to do where another node has begun: its run is joined, also by a node that was in it and went down."""
    if worker_group.launch == run_name and worker_group.state in (RUNNING, SUCCEEDED):
        return KEEP
    return RESTART if worker_group.state == RUNNING else START


def inspected(job: Job, paths: JobPaths, run: Run, kernel_root: str, decision: Decision) -> Launch:
    """Look up on the node what the plan depends on. Where a run begins, its secret is made here."""
    if job.supervision and decision.action != KEEP:
        job = replace(job, key=job.key or job.new_key or secrets.token_hex(KEY_BYTES))
    return Launch(job, paths, decision, look_up_site(job, paths, run, kernel_root, decision.library))
