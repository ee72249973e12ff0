# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node has to bring for its worker group. Looks before anything is started, and leaves nothing behind."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from .._cards.device_access import check_device_access
from .._cards.health import unfit_reason
from .._errors import GaudiError
from .._job.binding.modules import Share, check_share
from .._job.binding.topology import HPU
from .._job.description import MPIRUN, SLURM
from .._job.engines.mpirun import version_of
from .._job.engines.mpirun_reach import check_reach
from .._job.engines.slurm_jobs import check_slurm_there
from .._job.network import port_is_free
from .._job.paths import JobPaths
from .._job.plan import Job, starts_in, visible_modules
from .._job.port_holder import holder_of
from .._job.program_imports import PYTHONPATH, RUN, Looked, check_found
from .._job.supervision import control_port_of
from .._node.account_directory import check_given
from .._node.commands import Run, last_line
from .._node.job_user import account, check_left_to, run_as_user
from .._node.unit_words import unexpanded
from .card_groups import group_remarks
from .confinement import confined
from .image_check import check_image
from .library import check_library
from .node_data import check_data
from .part import port_taken_by
from .plan import Site

# The role's variable that has the job's own variables.
ENVIRONMENT = "gaudi_training_environment"
# Of the vendor's variables the one that its bridge cannot do without.
VENDORS = "GC_KERNEL_PATH"
# A new file under a name that is nobody's yet: in a directory of the account's a pipe would be waited at for ever.
WRITE = 'made=$(mktemp "$1.XXXXXX") && echo > "$made" && rm "$made"'
WRITE_SECONDS, VERSION_SECONDS = 60.0, 30.0


def check_node(job: Job, paths: JobPaths, run: Run, site: Site, *, running: bool, is_open: bool = False) -> list[str]:
    """Raises GaudiError where this node lacks what the worker group needs; ``running``: the job holds its port already.
    ``site`` is what was looked up for it. ``is_open``: which of the usual ports it takes is still to be chosen. Returns
    remarks on what is there, a sentence each.
    """
    remarks: list[str] = []
    if not job.is_witness:
        _check_what_ranks_start_with(job, paths, site.settings)
    account(job.user)
    if site.library:
        check_library(site.library)
    if not job.is_witness:
        remarks = _check_program(job, paths, run, site)
        check_data(job, paths, run)
        check_writable(job, paths, run)
        # Logs are put away where something is started, and go on where that is done from elsewhere.
        for place in (paths.directory, *([] if job.host in job.starting_hosts else [paths.logs])):
            check_given(place, account(job.user))
        if not job.checkpoint_directory:
            check_left_to(job.user, f"{paths.directory}/checkpoints")
    _check_ports(job, running, is_open and bool(job.may_move and port_taken_by(job, paths, run)))
    if not job.is_witness:
        _check_part(job, run, site)
    for refusal in site.lacks:
        raise refusal
    if job.engine == SLURM and job.host in job.starting_hosts:
        check_slurm_there(job.host, job.slurm.partition, run)
    if job.engine == MPIRUN and job.host in job.starting_hosts:
        check_reach(job, run)
    return remarks


def _check_program(job: Job, paths: JobPaths, run: Run, site: Site) -> list[str]:
    if site.entry:
        return check_image(job, paths, run, site.entry)
    check_imports(job, paths, run, site.settings)
    return []


def _check_what_ranks_start_with(job: Job, paths: JobPaths, settings: Mapping[str, str]) -> None:
    # A venv that was moved, or whose interpreter was removed, still has its torchrun.
    needed = ("python",) if job.engine == MPIRUN or job.image else ("torchrun", "python")
    for program in (f"{job.venv}/bin/{name}" for name in needed):
        if not os.access(program, os.X_OK):
            raise GaudiError(f"{program} cannot be executed; install the training stack first, or set its venv.")
    if job.working_directory and not Path(job.working_directory).is_dir():
        raise GaudiError(f"working_directory {job.working_directory} is not a directory on this node; create it there.")
    script = Path(starts_in(job, paths), job.command[0])
    # A container's may be in its image.
    if job.command[0] != "-m" and not job.image and not script.is_file():
        remedy = "copy it to every node of the job"
        if not Path(job.command[0]).is_absolute() and not job.working_directory:
            remedy = "give its whole path, or the directory that it is in as working_directory"
        raise GaudiError(f"command: there is no script {str(script)!r:.200} on this node; {remedy}.")
    for path in job.environment_files:
        if not path.startswith("-") and not Path(path).is_file():
            raise GaudiError(f"environment_files: there is no {path} on this node; create it, or put a - before it.")
    check_flags(job, settings)


def check_flags(job: Job, settings: Mapping[str, str]) -> None:
    """Without the paths of the vendor's software its bridge ends each rank with the name of a variable, no more.

    ``settings`` are here and below the variables of the job's environment files.
    """
    named = next((path[1:] for path in job.environment_files if path.startswith("-")), "")
    # An image of the vendor's has its own.
    known = job.device != HPU or bool(job.image) or VENDORS in job.environment or VENDORS in settings
    if named and not known and not Path(named).is_file():
        raise GaudiError(
            f"{named} is missing, with the node's flags and the paths of the vendor's software ({VENDORS}), without "
            "which no rank can use a card: run playbooks/flags.yml on this node, or set them in environment "
            f"({ENVIRONMENT})."
        )


def _check_part(job: Job, run: Run, site: Site) -> None:
    """Where a part cannot be had, it is said who has it, not that nobody has chosen; a whole node is to be well."""
    part = site.part
    if part.refusal and (part.is_open or job.part):
        raise part.refusal
    check_cards(job, run, site.kernel_root, site.settings, () if part.is_whole else part.modules)


def check_cards(job: Job, run: Run, kernel_root: str, settings: Mapping[str, str], modules: Sequence[int] = ()) -> None:
    """Raises GaudiError where this node's cards are not all well, not the account's to open, or perhaps another's.

    ``modules`` are those of the job, whatever becomes of the others; none: all.
    """
    if job.device != HPU:
        return
    unfit = unfit_reason(job.device, job.processes_per_node, run, kernel_root, modules)
    if unfit:
        raise GaudiError(f"{job.host} cannot take part: {unfit}")
    group_remarks(job, settings, kernel_root)
    check_device_access(job.user, job.device, kernel_root)
    # Slurm gives whole nodes, or says on each which cards it allots.
    if job.engine != SLURM:
        check_share(Share(job.processes_per_node, job.host, visible_modules(job, settings)), kernel_root)


def _check_ports(job: Job, running: bool, is_moved: bool) -> None:
    """The ranks meet on the first node, but where there are supervisors any node that may have ranks may become it.

    ``is_moved``: another job of ours has the usual ones, and this one gets others.
    """
    if running or is_moved or job.shares_ports:
        return
    may_be_first = job.node_rank == 0 or (job.supervision and not job.is_witness)
    if may_be_first and not port_is_free(job.port):
        raise _taken("rendezvous_port", job.port)
    if job.supervision:
        port = control_port_of(job.supervision, job.port)
        if not port_is_free(port, datagrams=True):
            raise _taken("supervision.control_port", port, datagrams=True)


def _taken(option: str, port: int, *, datagrams: bool = False) -> GaudiError:
    """Without the node's name, so that a launch can say it once of all nodes."""
    who = holder_of(port, datagrams=datagrams)
    return GaudiError(
        f"{option} {port}{' (UDP)' if datagrams else ''} is in use{f' by {who}' if who else ''}; give this job another "
        "port, or stop what uses it."
    )


def open_mpi_version(job: Job, run: Run) -> str:
    """The version of this node's mpirun; every node needs it, since mpirun starts a daemon of its own on each."""
    # As the account that will run it: whoever names the program need not be who may run programs as root.
    done = run_as_user(job.user, [job.mpi.mpirun, "--version"], run, timeout=VERSION_SECONDS)
    if done.rc == 127:
        raise GaudiError(
            f"engine mpirun: {job.mpi.mpirun} is not installed on {job.host}; install Open MPI there, name its program "
            "in mpi.mpirun, or choose engine torchrun."
        )
    version = version_of(done.stdout)
    if version is None:
        said = (done.stdout.strip() or done.stderr.strip() or "nothing").splitlines()[0]
        raise GaudiError(
            f"engine mpirun: {job.mpi.mpirun} on {job.host} is not Open MPI's, its --version says {said!r}; name Open "
            "MPI's program in mpi.mpirun."
        )
    return version


def check_imports(job: Job, paths: JobPaths, run: Run, settings: Mapping[str, str]) -> None:
    """Raises GaudiError where the program's first imports cannot be found by this node's venv."""
    first, second = job.command[0], (*job.command, "")[1]
    start = starts_in(job, paths)
    given = job.environment.get(PYTHONPATH, settings.get(PYTHONPATH))
    # The ranks start in the working directory, from which -m finds modules too.
    places = os.pathsep.join(filter(None, (start if first == RUN else "", given)))
    program = second if first == RUN else str(Path(start, first))
    way = RUN if first == RUN else ""
    looked = Looked("command", ENVIRONMENT, job.venv, job.user, way, confined(job, paths, unexpanded))
    check_found(program, looked, {**settings, **job.environment, PYTHONPATH: places}, run)


def check_writable(job: Job, paths: JobPaths, run: Run) -> None:
    """Raises GaudiError where the ranks could not write a checkpoint; tries it, since a mode alone does not tell."""
    directory = job.checkpoint_directory
    if not directory:
        # It is made when the job starts; until then the nearest directory above it tells.
        place = next(place for place in (Path(paths.directory), *Path(paths.directory).parents) if place.exists())
        if not place.is_dir() or not os.access(place, os.W_OK):
            raise GaudiError(
                f"the job's checkpoints belong to {paths.directory}, but {place} cannot be written; make it writable, "
                "or set checkpoint_directory."
            )
        return
    if not Path(directory).is_dir():
        raise GaudiError(
            f"checkpoint_directory {directory} is not a directory on {job.host}; create it there, for user {job.user}."
        )
    probe = f"{directory}/.gaudi3_scale-{job.name}-{job.host}"
    # As the account of the ranks: root may write where they may not, and may not on a shared file system.
    limits = confined(job, paths, unexpanded)
    done = run_as_user(job.user, ["sh", "-c", WRITE, "sh", probe], run, timeout=WRITE_SECONDS, limits=limits)
    if done.rc == 124:
        raise GaudiError(
            f"checkpoint_directory {directory} could not be written within {WRITE_SECONDS:g} s on {job.host}; see "
            "whether its storage answers."
        )
    if done.rc != 0:
        raise GaudiError(
            f"checkpoint_directory {directory} cannot be written by {job.user} on {job.host}: "
            f"{last_line(done.stderr).rpartition(': ')[2]}; let that user write there, or name another directory."
        )
