# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Looking up on the node what the plan of its worker group depends on; node_check is what refuses."""

from __future__ import annotations

from .._errors import GaudiError
from .._flags import recipe_cache
from .._flags.recipe_cache import RECIPE_CACHE
from .._job.description import MPIRUN, SLURM, TORCHRUN
from .._job.engines.mpirun import version_of_release
from .._job.engines.slurm_jobs import slurm_gres
from .._job.environment_files import copies_of, read_files, settings_in
from .._job.network import address_towards, interface_with
from .._job.paths import JobPaths
from .._job.plan import Job
from .._node.commands import Run
from .._releases.table import NEWEST
from .binding import binding_of
from .container import entry_of
from .library import library_of
from .node_check import open_mpi_version
from .plan import Site


def look_up_site(job: Job, paths: JobPaths, run: Run, kernel_root: str) -> Site:
    """All of it once, the job's environment files too; below ``kernel_root`` are the node's cards.

    What is only shown is shown also for a node that is not set up yet; a start is refused for what it ``lacks``.
    """
    lacks: list[GaudiError] = []
    library = library_of(job, run) if job.supervision else None
    files = read_files(job)
    found = settings_in(files)
    cache = found.get(RECIPE_CACHE)
    settings = {name: setting.value for name, setting in found.items()}
    try:
        address = address_towards(job.rendezvous_address, job.port)
    except GaudiError as refusal:
        address = ""
        lacks.append(refusal)
    binding = binding_of(job, paths, settings.get, kernel_root)
    if binding.refusal:
        lacks.append(binding.refusal)
    open_mpi = ""
    if job.engine == MPIRUN:
        try:
            open_mpi = open_mpi_version(job, run)
        except GaudiError as refusal:
            open_mpi = version_of_release(NEWEST) or ""
            lacks.append(refusal)
    return Site(
        interface=interface_with(address, run) if address and job.engine == TORCHRUN else None,
        recipes=recipe_cache.of_job(cache.value, job.name) if cache and cache.value else None,
        open_mpi=open_mpi,
        library=library,
        kernel_root=kernel_root,
        binding=binding,
        environment_copies={} if job.engine == SLURM else copies_of(files, paths),
        slurm_gres=slurm_gres(job, run) if job.engine == SLURM else "",
        recipe_setting=cache,
        settings=settings,
        lacks=tuple(lacks),
        entry=entry_of(job, paths, kernel_root),
    )
