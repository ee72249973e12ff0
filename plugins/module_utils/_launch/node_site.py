# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Looking up on the node what the plan of its worker group depends on; node_check is what refuses."""

from __future__ import annotations

from dataclasses import replace

from .._errors import GaudiError
from .._flags import recipe_cache
from .._flags.recipe_cache import RECIPE_CACHE
from .._job.description import MPIRUN, SLURM
from .._job.engines.mpirun import version_of_release
from .._job.engines.slurm_jobs import slurm_gres
from .._job.network import address_towards, interface_with
from .._job.paths import JobPaths
from .._job.plan import Job
from .._node.commands import Run
from .._releases.table import NEWEST
from .binding import binding_of
from .environment_files import copies_of, read_files, settings_in
from .library import Library
from .node_check import open_mpi_version
from .plan import Site


def look_up_site(job: Job, paths: JobPaths, run: Run, kernel_root: str, library: Library | None) -> Site:
    """The job's environment files are read once for all of it; below ``kernel_root`` are the node's cards."""
    files = read_files(job)
    settings = settings_in(files)
    of_node = settings.get(RECIPE_CACHE)
    recipes = recipe_cache.of_job(of_node.value, job.name) if of_node and of_node.value else None
    values = {name: setting.value for name, setting in settings.items()}
    binding = binding_of(job, paths, values.get, kernel_root)
    site = Site(recipes=recipes, kernel_root=kernel_root, binding=binding, recipe_setting=of_node)
    if job.engine == SLURM:
        return replace(site, slurm_gres=slurm_gres(job, run))
    site = replace(site, environment_copies=copies_of(files, paths))
    if job.engine == MPIRUN:
        return replace(site, open_mpi=_open_mpi(job, run))
    return replace(site, interface=_interface(job, run), library=library)


def _open_mpi(job: Job, run: Run) -> str:
    try:
        return open_mpi_version(job, run)
    except GaudiError:
        # Only to be shown: where something is started, check_node has refused a node without Open MPI before.
        return version_of_release(NEWEST) or ""


def _interface(job: Job, run: Run) -> str | None:
    """None where the address does not resolve yet, which only a check of a node that is not set up may meet."""
    try:
        return interface_with(address_towards(job.rendezvous_address, job.rendezvous_port), run)
    except GaudiError:
        return None
