# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Starting one node's worker group of a job, or seeing that the node could."""

from __future__ import annotations

import functools
import json
import secrets
import time
from dataclasses import dataclass, field
from dataclasses import replace as changed_to
from pathlib import Path
from typing import Mapping

from .._errors import GaudiError
from .._flags import recipe_cache
from .._flags.recipe_cache import RECIPE_CACHE
from .._job.description import MPIRUN, SLURM
from .._job.difference import description_differences, refuse_difference
from .._job.engines.mpirun import version_of_release
from .._job.engines.slurm_jobs import slurm_gres
from .._job.engines.torchrun import checkpoint_remarks
from .._job.job_secrets import command_remarks, shown_differences
from .._job.network import address_towards, interface_with
from .._job.paths import JobPaths
from .._job.plan import Job, describe
from .._job.supervision import launch_of
from .._monitoring.worker_group import ABSENT, RUNNING, SUCCEEDED, WorkerGroup
from .._node.commands import Run
from .._node.job_user import account
from .._node.kernel_tree import kernel_tree
from .._node.lock import exclusive
from .._node.rendered_files import WantedFile, pending, write
from .._node.systemd_units import enable, reload_units
from .._quarantine.mark import refuse_quarantined
from .._releases.table import NEWEST
from .binding import binding_of
from .card_groups import group_remarks
from .control_slurm import find_worker_group, remember_found, start_slurm
from .directories import check_places, let_read, make_control, make_directories, put_away_logs
from .environment_files import copies_of, setting_of_files
from .library import Library, library_of
from .node_check import check_node, open_mpi_version
from .node_programs import RANK, install
from .plan import Site, plan_launch, shown
from .stop import not_at_boot, stop, worker_group_result
from .votes import begin_votes

KEEP = "keep"
START = "start"
RESTART = "restart"
# State of a worker group on a node that has what it needs, while nothing runs there.
PREPARED = "prepared"
# Longer than a start takes, which may have to stop a job first.
LOCK_SECONDS = 300.0
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


def _joining(worker_group: WorkerGroup, launch: str) -> str:
    """What to do where another node has begun: its run is joined, also by a node that was in it and went down."""
    if worker_group.launch == launch and worker_group.state in (RUNNING, SUCCEEDED):
        return KEEP
    return RESTART if worker_group.state == RUNNING else START


def start(job: Job, paths: JobPaths, run: Run, options: StartOptions = AS_DESCRIBED) -> dict[str, object]:
    """Bring the worker group to running, or leave one that ended well; see :func:`decide`.

    On a node that the engine reaches by itself from the first one it is only prepared.
    """
    if job.host not in job.starting_hosts:
        return prepare(job, paths, run, options)
    worker_group = _found(job, paths, run, options.check_mode)
    action = decide(job, worker_group, options)
    library = library_of(job, run) if job.supervision else None
    if action == KEEP or options.check_mode:
        if job.engine == SLURM and worker_group.state == RUNNING and not options.check_mode:
            remember_found(job, paths, run)
        return _reported(job, paths, _site(job, paths, run, options.kernel_root, library), worker_group, action)
    check_node(job, paths, run, running=worker_group.state == RUNNING, kernel_root=options.kernel_root, library=library)
    check_places(job, paths)
    lock = f"job-{job.name}"
    with exclusive(lock, LOCK_SECONDS, directory=paths.state_directory, remedy="wait for its end"):
        now = find_worker_group(job, paths, run)
        # Who was faster has started it, and that is what we were asked for as well.
        restart = options.restart and not _begun_meanwhile(worker_group, now)
        action = decide(job, now, changed_to(options, restart=restart))
        site = _site(job, paths, run, options.kernel_root, library)
        result = _reported(job, paths, site, now, action)
        if action != KEEP:
            result["run"] = _begin(job, paths, site, now, run)
    return result


def _begun_meanwhile(before: WorkerGroup, now: WorkerGroup) -> bool:
    return now.state == RUNNING and (before.state != RUNNING or before.started != now.started)


def _reported(job: Job, paths: JobPaths, site: Site, worker_group: WorkerGroup, action: str) -> dict[str, object]:
    """The result, with the worker group as it will stand after ``action``."""
    reported = shown(job, paths, site)
    if action == KEEP:
        return worker_group_result(
            paths,
            worker_group.state,
            changed=False,
            launch=reported,
            run=worker_group.launch,
            library=worker_group.library,
        )
    changes = shown_differences(pending(plan_launch(job, paths, site).files), paths)
    return worker_group_result(
        paths, RUNNING, changed=True, launch=reported, library=_version(site.library), diff=changes
    )


def _begin(job: Job, paths: JobPaths, site: Site, worker_group: WorkerGroup, run: Run) -> str:
    """Returns the name of the run, which other nodes may join; empty where nodes do not know of each other."""
    if job.supervision:
        job = changed_to(job, key=job.key or job.new_key or secrets.token_hex(KEY_BYTES))
    _install_rank(job, paths)
    launch = plan_launch(job, paths, site)
    if worker_group.state == RUNNING:
        in_slurm = (worker_group.description or {}).get("engine") == SLURM
        stop(paths, run, check_mode=False, slurm_user=job.user if in_slurm else "")
    put_away_logs(paths, account(job.user))
    if not job.supervision and "supervision" in (worker_group.description or {}):
        # The unit of a supervisor is for the boot, too.
        not_at_boot(paths, run)
    group = account(job.user).pw_gid
    make_control(paths, group)
    make_directories(job, paths)
    if job.engine == SLURM:
        start_slurm(job, paths, launch, run)
        return ""
    for change in pending(launch.files):
        write(change)
    let_read(paths, group)
    name = launch_of(bytes.fromhex(job.key)) if job.key else ""
    if name:
        begin_votes(job, paths, name, worker_group)
    reported = {"launch": name, "library": _version(site.library)} if name else {}
    binding = [rank.as_dict() for rank in site.binding.ranks]
    _start_unit(paths, {**reported, "binding": binding}, run, at_boot=job.supervision is not None)
    return name


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
    worker_group = _found(job, paths, run, options.check_mode)
    library = library_of(job, run) if job.supervision else None
    reported = shown(job, paths, _site(job, paths, run, options.kernel_root, library))
    if decide(job, worker_group, options) == KEEP:
        return worker_group_result(
            paths,
            worker_group.state,
            changed=False,
            launch=reported,
            run=worker_group.launch,
            library=worker_group.library,
        )
    # What runs here goes on, and is found and followed as before.
    if worker_group.state != RUNNING:
        refuse_quarantined()
    missing = [path for path in (paths.directory, paths.logs, paths.ranks) if not Path(path).is_dir()]
    if not options.check_mode:
        check_node(
            job, paths, run, running=worker_group.state == RUNNING, kernel_root=options.kernel_root, library=library
        )
        check_places(job, paths)
        make_directories(job, paths)
        _install_rank(job, paths)
    # What is to begin anew is nothing that other nodes could join.
    state = PREPARED if worker_group.state == ABSENT or options.restart else worker_group.state
    return worker_group_result(paths, state, changed=bool(missing), launch=reported, library=_version(library))


def _version(library: Library | None) -> str:
    return library.version if library else ""


def _install_rank(job: Job, paths: JobPaths) -> None:
    """On every node, also where the engine gets by itself: its ranks begin there as this program."""
    if job.is_bound:
        install(paths.rank_programs, RANK)


def _found(job: Job, paths: JobPaths, run: Run, check_mode: bool) -> WorkerGroup:
    try:
        return find_worker_group(job, paths, run)
    except GaudiError:
        # A check of a node that is not set up yet shows what would be run there all the same.
        if not check_mode:
            raise
        return WorkerGroup(ABSENT)


def _site(job: Job, paths: JobPaths, run: Run, kernel_root: str, library: Library | None) -> Site:
    of_node = setting_of_files(job, RECIPE_CACHE)
    recipes = recipe_cache.of_job(of_node, job.name) if of_node else None
    binding = binding_of(job, paths, functools.partial(setting_of_files, job), kernel_root)
    if job.engine == SLURM:
        named = slurm_gres(job, run)
        return Site(recipes=recipes, kernel_root=kernel_root, binding=binding, slurm_gres=named)
    copies = copies_of(job, paths)
    if job.engine != MPIRUN:
        return Site(_interface(job, run), recipes, "", library, kernel_root, binding, copies)
    try:
        version = open_mpi_version(job, run)
    except GaudiError:
        # Only to be shown: where something is started, check_node has refused a node without Open MPI before.
        version = version_of_release(NEWEST) or ""
    return Site(None, recipes, version, binding=binding, environment_copies=copies)


def _interface(job: Job, run: Run) -> str | None:
    """None where the address does not resolve yet, which only a check of a node that is not set up may meet."""
    try:
        return interface_with(address_towards(job.rendezvous_address, job.rendezvous_port), run)
    except GaudiError:
        return None


def _start_unit(paths: JobPaths, begun: Mapping[str, object], run: Run, *, at_boot: bool) -> None:
    """``begun`` is kept for who asks later how the job was started."""
    note = WantedFile(paths.started, json.dumps({"time": time.time(), **begun}) + "\n", mode=0o600)
    for change in pending([note]):
        write(change)
    if at_boot:
        # systemd reads the unit anew for it, also where it was enabled before.
        enable(run, paths.unit)
    else:
        reload_units(run)
    # A unit that failed before keeps its state, and its limit on starts, until it is told to forget them.
    run(["systemctl", "reset-failed", paths.unit])
    done = run(["systemctl", "start", paths.unit])
    if done.rc != 0:
        log = run(["journalctl", "--unit", paths.unit, "--lines", "10", "--no-pager", "--output", "cat"]).stdout
        raise GaudiError(
            f"job {paths.name} did not start: {(log or done.stderr).strip()}\n"
            f"`systemctl status {paths.unit}` on the node has details.",
            log=log.splitlines(),
        )
