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
from .binding import binding_of
from .control_slurm import find_worker_group
from .node_site import look_up_site
from .part import WHOLE, Part, allotted, as_begun, is_alone, part_of, refuse_taken_since
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
class Launch:
    """What to do (``KEEP``, ``START``, ``RESTART``) with a worker group as it stands, and all that was looked up for
    it: it is shown, or applied. ``key`` is the secret of the run that would begin.
    """

    job: Job
    paths: JobPaths
    worker_group: WorkerGroup
    action: str
    site: Site
    key: str = field(repr=False)

    @cached_property
    def plan(self) -> NodePlan:
        """What is run."""
        return plan_launch(replace(self.job, key=self.key), self.paths, self.site)

    @cached_property
    def shown(self) -> Mapping[str, object]:
        """The same without secrets."""
        return shown(self.job, self.paths, self.site)

    @property
    def run_name(self) -> str:
        """The run that begins, which other nodes may join; empty where nodes do not know of each other."""
        return launch_of(bytes.fromhex(self.key)) if self.key else ""

    @property
    def library(self) -> str:
        """The version of the node library that runs the supervisor; empty without one."""
        return self.site.library.version if self.site.library else ""


def inspect(job: Job, paths: JobPaths, run: Run, options: StartOptions, *, may_choose: bool) -> Launch:
    """Look at the node once, and decide; raises GaudiError when a different job of this name runs.

    ``may_choose``: which cards the job takes here is for this node to choose, where nobody has said it.
    """
    try:
        worker_group = find_worker_group(job, paths, run)
    except GaudiError:
        # A check of a node that is not set up yet shows what would be run there all the same.
        if not options.check_mode:
            raise
        worker_group = WorkerGroup(ABSENT)
    action = decide(job, worker_group, options)
    key = job.key or job.new_key or secrets.token_hex(KEY_BYTES) if job.supervision else job.key
    job = as_begun(job, worker_group, is_kept=action == KEEP)
    launch = Launch(job, paths, worker_group, action, look_up_site(job, paths, run, options.kernel_root), key)
    if action == KEEP:
        return replace(launch, site=replace(launch.site, part=replace(WHOLE, modules=worker_group.modules)))
    part = part_of(job, paths, launch.site.settings, worker_group, run, options.kernel_root)
    return _with_part(launch, part, may_choose=may_choose)


def _with_part(launch: Launch, part: Part, *, may_choose: bool) -> Launch:
    """The launch with these cards, to which its ranks are bound."""
    before, site = launch.job, launch.site
    job = allotted(before, part, may_choose=may_choose)
    binding, lacks = site.binding, [one for one in site.lacks if one is not site.part.refusal]
    if job.part != before.part:
        binding = binding_of(job, launch.paths, site.settings.get, site.kernel_root)
        lacks = [one for one in lacks if one is not site.binding.refusal]
        lacks += [binding.refusal] if binding.refusal else []
    lacks += [part.refusal] if part.refusal else []
    return replace(launch, job=job, site=replace(site, binding=binding, lacks=tuple(lacks), part=part))


def settled(launch: Launch, run: Run) -> Launch:
    """The launch with the cards and ports as they are free now, while the lock of the node's choice is held.

    Raises GaudiError where others have taken them since. A node alone chooses anew.
    """
    job, paths, settings = launch.job, launch.paths, launch.site.settings
    root = launch.site.kernel_root
    part = part_of(job, paths, settings, launch.worker_group, run, root)
    if part.refusal and part.is_open and is_alone(job):
        anew = replace(job, allotted=replace(job.allotted, modules=()))
        part = part_of(anew, paths, settings, launch.worker_group, run, root)
    refuse_taken_since(job, part, paths, run)
    return _with_part(launch, part, may_choose=part.is_open)


def decided_again(launch: Launch, run: Run, options: StartOptions) -> Launch:
    """The launch by how the worker group stands now, while the lock of a start is held."""
    before, now = launch.worker_group, find_worker_group(launch.job, launch.paths, run)
    if now.state == RUNNING and (before.state != RUNNING or before.started != now.started):
        # Who was faster has started it, and that is what we were asked for as well.
        options = replace(options, restart=False)
    return replace(launch, worker_group=now, action=decide(launch.job, now, options))


def decide(job: Job, worker_group: WorkerGroup, options: StartOptions) -> str:
    """What to do with a worker group as it stands; raises GaudiError when a different job of this name runs."""
    described = worker_group.description
    changed = [] if described is None else description_differences(described, describe(job))
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
