# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How the ranks of a job are bound on this node, as far as that is known before they start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from .._errors import GaudiError
from .._job.binding.launcher import Launcher
from .._job.binding.node import read_bindings, service_cpus
from .._job.binding.plan import CORES, RankBinding
from .._job.binding.rank import ALWAYS, NEVER, THREADS
from .._job.binding.topology import VISIBLE
from .._job.container.enter import PYTHON
from .._job.description import ANY, SLURM
from .._job.paths import JobPaths
from .._job.plan import Job
from .node_programs import RANK, program_path


@dataclass(frozen=True)
class Binding:
    """``ranks`` are as they would be bound now; empty where only the start will tell, or where ``refusal`` says why
    one would have no core. ``launcher`` None: not bound. ``sets_threads``: nobody else says how many threads a rank
    has.
    """

    launcher: Launcher | None = None
    ranks: tuple[RankBinding, ...] = ()
    sets_threads: bool = False
    refusal: GaudiError | None = None

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
    # Where Slurm gives a job some processors of a node, it has chosen them, and the ranks share out what they got.
    bind = CORES if job.engine == SLURM and job.slurm.cpus_per_rank else job.bind
    python = PYTHON if job.image else f"{job.venv}/bin/python"
    launcher = Launcher(python, program, bind, job.device, kernel_root)
    sets_threads = job.environment.get(THREADS, setting(THREADS)) is None
    try:
        return Binding(launcher, ranks_bound_now(job, setting, kernel_root), sets_threads)
    except GaudiError as refusal:
        return Binding(launcher, sets_threads=sets_threads, refusal=refusal)


def ranks_bound_now(job: Job, setting: Setting, kernel_root: str) -> tuple[RankBinding, ...]:
    """How this node's ranks would be bound now. Raises GaudiError where one would have no core."""
    # Which nodes, or which of their processors, is then Slurm's to say.
    is_open = job.engine == SLURM and (job.slurm.nodes == ANY or job.slurm.cpus_per_rank)
    if is_open or not job.is_bound:
        return ()
    name = VISIBLE.get(job.device, "")
    part = ",".join(map(str, job.part)) or setting(name)
    visible = {name: job.environment.get(name, part) or ""}
    return read_bindings(job.bind, job.device, job.processes_per_node, visible, job.host, service_cpus(), kernel_root)
