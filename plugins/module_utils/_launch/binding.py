# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How the ranks of a job are bound on this node, as far as that is known before they start."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Callable

from .._errors import GaudiError
from .._job.binding.launcher import Launcher
from .._job.binding.node import read_bindings, service_cpus
from .._job.binding.plan import CORES, RankBinding
from .._job.binding.rank import ALWAYS, NEVER, THREADS
from .._job.binding.topology import VISIBLE
from .._job.description import ANY, SLURM
from .._job.paths import JobPaths
from .._job.plan import Job
from .node_programs import RANK, program_path


@dataclass(frozen=True)
class Binding:
    """``ranks`` are as they would be bound now; empty where only the start will tell. ``launcher`` None: not
    bound. ``sets_threads``: nobody else says how many threads a rank has.
    """

    launcher: Launcher | None = None
    ranks: tuple[RankBinding, ...] = ()
    sets_threads: bool = False

    @property
    def argv(self) -> tuple[str, ...]:
        """What stands before a rank's command on this node; empty where ranks are not bound."""
        return self.launcher.argv(ALWAYS if self.sets_threads else NEVER) if self.launcher else ()


UNBOUND = Binding()
# A variable's value from the node's environment files; None where none of them has it.
Setting = Callable[[str], "str | None"]


def binding_of(job: Job, paths: JobPaths, setting: Setting, kernel_root: str) -> Binding:
    """What is bound how, and by what."""
    if not job.is_bound:
        return UNBOUND
    program = program_path(paths.rank_programs, RANK)
    launcher = Launcher(f"{job.venv}/bin/python", program, _bind(job), job.device, kernel_root)
    ranks: tuple[RankBinding, ...] = ()
    # Only to be shown: where something is started, check_node has refused a node with too few cores before.
    with contextlib.suppress(GaudiError):
        ranks = ranks_bound_now(job, setting, kernel_root)
    return Binding(launcher, ranks, _value(job, THREADS, setting) is None)


def ranks_bound_now(job: Job, setting: Setting, kernel_root: str) -> tuple[RankBinding, ...]:
    """How this node's ranks would be bound now. Raises GaudiError where one would have no core."""
    # Which nodes, or which of their processors, is then Slurm's to say.
    is_open = job.engine == SLURM and (job.slurm.nodes == ANY or job.slurm.cpus_per_rank)
    if is_open or not job.is_bound:
        return ()
    name = VISIBLE.get(job.device, "")
    visible = {name: _value(job, name, setting) or ""}
    return read_bindings(job.bind, job.device, job.processes_per_node, visible, job.host, service_cpus(), kernel_root)


def _bind(job: Job) -> str:
    """Where Slurm gives a job some processors of a node, it has chosen them, and the ranks share out what they got."""
    return CORES if job.engine == SLURM and job.slurm.cpus_per_rank else job.bind


def _value(job: Job, name: str, setting: Setting) -> str | None:
    return job.environment.get(name, setting(name))
