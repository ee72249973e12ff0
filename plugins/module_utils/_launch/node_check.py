# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node has to bring for its worker group. Looks before anything is started, and leaves nothing behind."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

from .._cards.device_access import check_device_access
from .._cards.health import unfit_reason
from .._errors import GaudiError
from .._job.binding.modules import VARIABLE, Share, check_share
from .._job.binding.topology import HPU
from .._job.description import MPIRUN, SLURM
from .._job.network import address_towards, port_is_free
from .._job.paths import JobPaths
from .._job.plan import Job
from .._job.supervision import control_port_of
from .._job.user import account, as_user, check_left_to
from .._node.commands import Run, last_line
from .binding import ranks_bound_now
from .card_groups import group_remarks
from .engines.mpirun import version_of
from .engines.mpirun_reach import check_reach
from .engines.slurm_jobs import check_slurm_there
from .environment_files import setting_of_files, settings_of_files
from .library import Library, check_library
from .node_data import check_data

# Of the program's own file only the imports that it cannot do without: not those in functions, in `try` and under
# `if`. Nothing is executed but the packages above a module given by -m, as Python itself does to find it. Finding is
# enough to see a package that one node lacks, and takes milliseconds where importing torch takes seconds.
IMPORTS = """
import ast, importlib.util, json, sys, tokenize
def main(first, second):
    # python -c looks into the folder that it happens to be started in.
    sys.path[:] = [place for place in sys.path if place]
    try:
        if first == "-m":
            found = importlib.util.find_spec(second)
            if found is not None and found.submodule_search_locations is not None:
                found = importlib.util.find_spec(second + ".__main__")
            if found is None:
                return {"missing": [second]}
            file = found.origin
        else:
            file = first
            sys.path.insert(0, first.rpartition("/")[0])
        if not file or not file.endswith(".py"):
            return {}
        with tokenize.open(file) as stream:
            tree = ast.parse(stream.read(), file)
        names = set()
        for node in tree.body:
            if isinstance(node, ast.Import):
                names |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names.add(node.module.partition(".")[0])
        return {"missing": sorted(name for name in names - set(sys.modules) if importlib.util.find_spec(name) is None)}
    except ModuleNotFoundError as error:
        return {"missing": [error.name]}
    except Exception as error:
        return {"error": "%s: %s" % (type(error).__name__, error)}
print(json.dumps(main(*sys.argv[1:])))
"""
# A program with the variables of the ranks, once it is the job's account that runs it: root's own program, which
# changes to that account, must not see what a file of the account says (LD_PRELOAD).
VARIABLES = "GAUDI3_SCALE_VARIABLES"
WITH_VARIABLES = f"""
import json, os, sys
os.environ.update(json.loads(os.environ.pop("{VARIABLES}")))
os.execv(sys.argv[1], sys.argv[1:])
"""
IMPORT_SECONDS = 60.0


def check_node(
    job: Job, paths: JobPaths, run: Run, *, running: bool, kernel_root: str = "/", library: Library | None = None
) -> None:
    """Raises GaudiError where this node lacks what the worker group needs; ``running``: the job holds its port already.
    ``library`` is what runs its supervisor.
    """
    if not job.is_witness:
        _check_what_ranks_start_with(job)
    account(job.user)
    if library:
        check_library(library)
    if not job.is_witness:
        check_imports(job, run)
        check_data(job, run)
        check_writable(job, paths, run)
        if not job.checkpoint_directory:
            check_left_to(job.user, f"{paths.directory}/checkpoints")
    address_towards(job.rendezvous_address, job.rendezvous_port)
    _check_ports(job, running)
    if not job.is_witness:
        check_cards(job, run, kernel_root)
    if job.engine == SLURM and job.host in job.starting_hosts:
        check_slurm_there(job.host, job.slurm.partition, run)
    if job.engine == MPIRUN:
        open_mpi_version(job, run)
    if job.engine == MPIRUN and job.host in job.starting_hosts:
        check_reach(job, run)


def _check_what_ranks_start_with(job: Job) -> None:
    _check_programs(job)
    if not Path(job.working_directory).is_dir():
        raise GaudiError(f"working_directory {job.working_directory} is no directory on this node; create it there.")
    script = Path(job.working_directory, job.command[0])
    if job.command[0] != "-m" and not script.is_file():
        raise GaudiError(
            f"command: there is no script {str(script)!r:.200} on this node; copy it to every node of the job."
        )
    for path in job.environment_files:
        if not path.startswith("-") and not Path(path).is_file():
            raise GaudiError(f"environment_files: there is no {path} on this node; create it, or put a - before it.")


def check_cards(job: Job, run: Run, kernel_root: str) -> None:
    """Raises GaudiError where this node's cards are not all well, not the account's to open, or perhaps another's."""
    unfit = unfit_reason(job.device, job.processes_per_node, run, kernel_root)
    if unfit:
        raise GaudiError(f"{job.host} cannot take part: {unfit}")
    group_remarks(job, kernel_root)
    check_device_access(job.user, job.device, kernel_root)
    # Slurm gives whole nodes, or says on each which cards it allots.
    if job.device == HPU and job.engine != SLURM:
        visible = job.environment.get(VARIABLE, setting_of_files(job, VARIABLE)) or ""
        check_share(Share(job.processes_per_node, job.host, visible), kernel_root)
    ranks_bound_now(job, functools.partial(setting_of_files, job), kernel_root)


def _check_ports(job: Job, running: bool) -> None:
    """The ranks meet on the first node, but where there are supervisors any node that may have ranks may become it."""
    if running:
        return
    may_be_first = job.node_rank == 0 or (job.supervision and not job.is_witness)
    if may_be_first and not port_is_free(job.rendezvous_port):
        raise GaudiError(
            f"rendezvous_port {job.rendezvous_port} is in use on {job.host}; choose another port, or stop what uses it."
        )
    if job.supervision:
        port = control_port_of(job.supervision, job.rendezvous_port)
        if not port_is_free(port, datagrams=True):
            raise GaudiError(
                f"supervision.control_port {port} (UDP) is in use on {job.host}; choose another port, or stop what "
                "uses it."
            )


def _check_programs(job: Job) -> None:
    # A venv that was moved, or whose interpreter was removed, still has its torchrun.
    needed = ("python",) if job.engine == MPIRUN else ("torchrun", "python")
    for program in (f"{job.venv}/bin/{name}" for name in needed):
        if not os.access(program, os.X_OK):
            raise GaudiError(f"{program} cannot be executed; install the training stack first, or name its venv.")


def open_mpi_version(job: Job, run: Run) -> str:
    """The version of this node's mpirun; every node needs it, since mpirun starts a daemon of its own on each."""
    done = run([job.mpi.mpirun, "--version"])
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


def check_imports(job: Job, run: Run) -> None:
    """Raises GaudiError where the program's first imports cannot be found by this node's venv."""
    first, second = job.command[0], (*job.command, "")[1]
    target = first if first == "-m" else str(Path(job.working_directory, first))
    of_files = settings_of_files(job)
    given = job.environment.get("PYTHONPATH", of_files.get("PYTHONPATH"))
    # The ranks start in the working directory, from which -m finds modules too. A package above the module may import
    # the bridge, which needs the vendor's variables.
    places = os.pathsep.join(filter(None, (job.working_directory if first == "-m" else "", given)))
    variables = {**of_files, **job.environment, "PYTHONPATH": places}
    python = f"{job.venv}/bin/python"
    argv = as_user(job.user, [python, "-c", WITH_VARIABLES, python, "-c", IMPORTS, target, second])
    done = run(argv, timeout=IMPORT_SECONDS, env={VARIABLES: json.dumps(variables)})
    what = second if first == "-m" else target
    if done.rc == 124:
        raise GaudiError(
            f"command: nobody can tell whether {what} can be imported on {job.host}: {python} had not ended after "
            f"{IMPORT_SECONDS:g} s; try again, and see how fast its storage is read."
        )
    try:
        # A package may say something of its own when it is found.
        answer = json.loads(last_line(done.stdout))
    except ValueError:
        raise GaudiError(
            f"command: {what} cannot be imported on {job.host}, {job.venv}/bin/python says: "
            f"{last_line(done.stderr)}; repair the venv there."
        ) from None
    if answer.get("error"):
        raise GaudiError(f"command: {what} cannot be imported on {job.host}: {answer['error']}; correct it there.")
    if answer.get("missing"):
        raise GaudiError(
            f"command: {what} cannot be imported on {job.host}: {job.venv} has no module {', '.join(answer['missing'])}"
            "; install it there, or name its folder in PYTHONPATH."
        )


def check_writable(job: Job, paths: JobPaths, run: Run) -> None:
    """Raises GaudiError where the ranks could not write a checkpoint; tries it, since a mode alone does not tell."""
    if not job.checkpoint_directory:
        _check_own_directory(paths)
        return
    directory = job.checkpoint_directory
    if not Path(directory).is_dir():
        raise GaudiError(
            f"checkpoint_directory {directory} is no directory on {job.host}; create it there, for user {job.user}."
        )
    probe = f"{directory}/.gaudi3_scale-{job.name}-{job.host}"
    # As the account of the ranks: root may write where they may not, and may not on a shared file system.
    done = run(as_user(job.user, ["sh", "-c", 'echo > "$1" && rm "$1"', "sh", probe]))
    if done.rc != 0:
        raise GaudiError(
            f"checkpoint_directory {directory} cannot be written by {job.user} on {job.host}: "
            f"{last_line(done.stderr).rpartition(': ')[2]}; let that user write there, or name another directory."
        )


def _check_own_directory(paths: JobPaths) -> None:
    """It is made when the job starts; until then the nearest directory above it tells."""
    place = next(place for place in (Path(paths.directory), *Path(paths.directory).parents) if place.exists())
    if not place.is_dir() or not os.access(place, os.W_OK):
        raise GaudiError(
            f"the job's checkpoints belong to {paths.directory}, but {place} cannot be written; make it writable, or "
            "set checkpoint_directory."
        )
