# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What would be run for a job on one node, whatever the engine, as one value: to be shown, compared and written."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._job.binding.rank import THREADS
from .._job.container.entry import Entry
from .._job.description import MPIRUN, SLURM
from .._job.engines.mpirun import host_file_text, mpirun_argv, mpirun_environment
from .._job.engines.slurm import SlurmCards, sbatch_argv, script_text
from .._job.engines.torchrun import supervision_text, supervisor_command, torchrun_argv
from .._job.environment_files import Setting
from .._job.paths import JobPaths
from .._job.plan import NODE, Job, describe, job_environment
from .._node.kernel_tree import kernel_tree
from .._node.rendered_files import WantedFile
from .._node.secret_words import HIDDEN, without_secrets
from .binding import UNBOUND, Binding
from .library import Library
from .part import WHOLE, Part
from .unit import environment_text, unit_text


@dataclass(frozen=True)
class Site:
    """What is looked up on the node: interface towards the first one, recipe cache, version of Open MPI.

    ``library`` has the supervisor that runs here; None where the job has none.
    ``recipe_setting`` is the node's recipe cache as the job's files have it.
    ``slurm_gres`` is what Slurm's nodes call their cards; "" where they call them as is usual.
    ``environment_copies`` has what systemd reads instead of some of the job's environment files
    (``_job.environment_files``), ``settings`` the variables of them all.
    ``entry`` enters the job's container; None where it has none.
    ``part`` has the cards that its ranks take here.
    ``lacks`` has what a start is refused for; what is only shown goes without it.
    """

    interface: str | None = None
    recipes: str | None = None
    open_mpi: str = ""
    library: Library | None = None
    kernel_root: str = field(default_factory=kernel_tree)
    binding: Binding = UNBOUND
    environment_copies: Mapping[str, WantedFile | None] = field(default_factory=dict)
    slurm_gres: str = ""
    recipe_setting: Setting | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    lacks: tuple[GaudiError, ...] = ()
    entry: Entry | None = None
    part: Part = WHOLE


@dataclass(frozen=True)
class NodePlan:
    """One node's part. ``file`` is the unit or the batch script, ``text`` what is in it; both empty on a node on which
    nothing is started, since the engine reaches it from the first one. ``argv`` is empty for a spare, which waits, and
    for the witness.
    """

    engine: str
    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    file: str = ""
    files: tuple[WantedFile, ...] = ()

    @property
    def text(self) -> str:
        return next((file.content or "" for file in self.files if file.path == self.file), "")


def plan_launch(job: Job, paths: JobPaths, site: Site) -> NodePlan:
    """What this node starts. Files that may hold a user's secrets are for their owner alone."""
    if job.host not in job.starting_hosts:
        return NodePlan(job.engine)
    return _batch_launch(job, paths, site) if job.engine == SLURM else _unit_launch(job, paths, site)


def _batch_launch(job: Job, paths: JobPaths, site: Site) -> NodePlan:
    environment = job_environment(job, paths, None, site.recipes)
    cards = SlurmCards(site.slurm_gres, site.kernel_root)
    text = script_text(job, paths, environment, site.binding.launcher, cards, site.entry)
    script = WantedFile(paths.batch_script, text, mode=0o640)
    files = (script, description_file(job, paths))
    return NodePlan(job.engine, sbatch_argv(paths.batch_script), environment, script.path, files)


def _unit_launch(job: Job, paths: JobPaths, site: Site) -> NodePlan:
    """``program`` is what the unit runs: ``argv``, or a supervisor that starts it."""
    further: list[WantedFile] = []
    launcher = site.binding.argv
    entry = site.entry.argv(paths.container_process) if site.entry else ()
    if job.engine == MPIRUN:
        # Each node's ranks look for their own interface; mpirun carries the rest to them.
        environment = mpirun_environment(job, job_environment(job, paths, None, site.recipes))
        program = argv = mpirun_argv(job, paths, site.open_mpi, environment, site.binding.launcher)
        further = [WantedFile(paths.host_file, host_file_text(job), mode=0o640)]
    else:
        own = job_environment(job, paths, site.interface, site.recipes)
        # For torchrun, which without it sets 1 and says so; each rank takes the number of its own cores all the same.
        least = min((rank.cores for rank in site.binding.ranks), default=0)
        threads = {THREADS: str(least)} if site.binding.sets_threads and least else {}
        environment = {**threads, **own, NODE: job.host}
        program = argv = () if job.node_rank is None else torchrun_argv(job, paths, launcher=launcher, entry=entry)
    if job.supervision and site.library:
        program = (*supervisor_command(site.library.venv), paths.supervision)
        further = [WantedFile(paths.supervision, _supervised(job, paths, site, launcher, entry), mode=0o640)]
    # Where an account may change one, systemd gets the copy: None for one that may be missing, and is.
    read = [site.environment_copies.get(path, path) for path in job.environment_files]
    environment_files = [one if isinstance(one, str) else one.path for one in read if one is not None]
    # A command may hold a secret. Of a process, and of a loaded unit, every account can ask for it all the same.
    unit = WantedFile(paths.unit_file, unit_text(job, paths, program, environment_files), mode=0o600)
    variables = WantedFile(paths.environment, environment_text(environment), mode=0o600)
    files = (unit, variables, *filter(None, site.environment_copies.values()), *further, description_file(job, paths))
    return NodePlan(job.engine, argv, environment, unit.path, files)


def _supervised(job: Job, paths: JobPaths, site: Site, launcher: Sequence[str], entry: Sequence[str]) -> str:
    modules = () if site.part.is_whole else site.part.modules
    return supervision_text(job, paths, site.kernel_root, launcher, modules, entry)


def description_file(job: Job, paths: JobPaths) -> WantedFile:
    """What a later launch is compared with."""
    text = json.dumps(describe(job), indent=2, sort_keys=True) + "\n"
    return WantedFile(paths.description, text, mode=0o600)


def shown(job: Job, paths: JobPaths, site: Site) -> dict[str, object]:
    """The launch as plain values for people, without the values of variables that sound like secrets."""
    # Before it is planned: in the text of a script that is a word of another one nobody would find them again.
    hidden = without_secrets({"environment": job.environment, "command": list(job.command)})
    told = replace(job, environment=hidden["environment"], command=tuple(hidden["command"]), key=HIDDEN, new_key="")
    plan = plan_launch(told, paths, site)
    return {
        "engine": plan.engine,
        "argv": without_secrets(plan.argv),
        "environment": dict(plan.environment),
        "file": plan.file,
        "text": without_secrets(plan.text),
        "binding": [rank.as_dict() for rank in site.binding.ranks],
        "modules": list(site.part.modules),
        "rendezvous_port": job.port,
    }
