# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Starting, stopping and removing one node's share of a job."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Mapping, Sequence

from .commands import Run
from .engine_mpirun import version_of_release
from .errors import GaudiError
from .job_control_slurm import find_share, remember_found, start_slurm, stop_slurm
from .job_description import MPIRUN, SLURM
from .job_difference import description_differences, refuse_difference
from .job_directories import make_directories, put_away_logs, recipe_directory
from .job_launch import Site, plan_launch, shown
from .job_network import address_towards, interface_with
from .job_node_check import check_node, open_mpi_version, setting_of_files
from .job_paths import JobPaths
from .job_plan import Job, describe
from .job_state import (
    ABSENT,
    RUNNING,
    STOPPED,
    SUCCEEDED,
    Share,
    read_share,
    slurm_jobs_of,
    unit_is_active,
    unit_properties,
)
from .node_lock import exclusive
from .process_tree import processes_in
from .recipe_cache import RECIPE_CACHE
from .release_table import NEWEST
from .rendered_files import WantedFile, differences, pending, write

KEEP = "keep"
START = "start"
RESTART = "restart"
# State of a share on a node that has what it needs, while nothing runs there.
PREPARED = "prepared"
# Longer than a start takes, which may have to stop a job first.
LOCK_SECONDS = 300.0
STOP_SECONDS = 60.0


def decide(job: Job, share: Share, restart: bool, replace: bool = False) -> str:
    """What to do with a share that stands as it does; raises GaudiError when a different job of this name runs."""
    changed = description_differences(share.description or {}, describe(job))
    if share.state == RUNNING and changed and not replace:
        raise refuse_difference(job.name, job.host, changed)
    if share.state == RUNNING:
        return RESTART if restart or changed else KEEP
    if share.state == SUCCEEDED and not changed and not restart:
        return KEEP
    return START


def start(
    job: Job, paths: JobPaths, run: Run, *, restart: bool, check_mode: bool, replace: bool = False
) -> dict[str, object]:
    """Bring the share to running, or leave one that ended well; see :func:`decide`.

    On a node that the engine reaches by itself from the first one it is only prepared.
    """
    if job.host not in job.starting_hosts:
        return prepare(job, paths, run, restart=restart, check_mode=check_mode, replace=replace)
    share = _found(job, paths, run, check_mode)
    action = decide(job, share, restart, replace)
    if action == KEEP or check_mode:
        if job.engine == SLURM and share.state == RUNNING and not check_mode:
            remember_found(job, paths, run)
        return _told(job, paths, run, share, action)
    check_node(job, paths, run, running=share.state == RUNNING)
    lock = f"job-{job.name}"
    with exclusive(lock, LOCK_SECONDS, directory=paths.state_directory, remedy="wait for its end"):
        now = find_share(job, paths, run)
        # Who was faster has started it, and that is what we were asked for as well.
        action = decide(job, now, restart and not _begun_meanwhile(share, now), replace)
        result = _told(job, paths, run, now, action)
        if action != KEEP:
            _begin(job, paths, run, now)
    return result


def _begun_meanwhile(before: Share, now: Share) -> bool:
    return now.state == RUNNING and (before.state != RUNNING or before.started != now.started)


def _told(job: Job, paths: JobPaths, run: Run, share: Share, action: str) -> dict[str, object]:
    """The result, with the share as it will stand after ``action``."""
    site = _site(job, run)
    told = shown(job, paths, site)
    if action == KEEP:
        return _result(paths, share.state, changed=False, launch=told)
    changes = pending(plan_launch(job, paths, site).files)
    return _result(paths, RUNNING, changed=True, launch=told, diff=differences(changes))


def _begin(job: Job, paths: JobPaths, run: Run, share: Share) -> None:
    site = _site(job, run)
    launch = plan_launch(job, paths, site)
    if share.state == RUNNING:
        in_slurm = (share.description or {}).get("engine") == SLURM
        stop(paths, run, check_mode=False, slurm_user=job.user if in_slurm else "")
    put_away_logs(paths)
    make_directories(job, paths, recipe_directory(job, site.recipes))
    if job.engine == SLURM:
        return start_slurm(job, paths, launch, run)
    for change in pending(launch.files):
        write(change)
    return _start_unit(paths, run)


def prepare(
    job: Job, paths: JobPaths, run: Run, *, restart: bool, check_mode: bool, replace: bool = False
) -> dict[str, object]:
    """See that this node has what the share needs, and make its directories; starts nothing.

    What refuses a start refuses this, so that a job begins on no node before it can on all.
    """
    share = _found(job, paths, run, check_mode)
    told = shown(job, paths, _site(job, run))
    if decide(job, share, restart, replace) == KEEP:
        return _result(paths, share.state, changed=False, launch=told)
    missing = [path for path in (paths.directory, paths.logs, paths.ranks) if not Path(path).is_dir()]
    if not check_mode:
        check_node(job, paths, run, running=share.state == RUNNING)
        make_directories(job, paths, recipe_directory(job, setting_of_files(job, RECIPE_CACHE)))
    state = PREPARED if share.state == ABSENT else share.state
    return _result(paths, state, changed=bool(missing), launch=told)


def _found(job: Job, paths: JobPaths, run: Run, check_mode: bool) -> Share:
    try:
        return find_share(job, paths, run)
    except GaudiError:
        # A check of a node that is not set up yet shows what would be run there all the same.
        if not check_mode:
            raise
        return Share(ABSENT)


def _site(job: Job, run: Run) -> Site:
    recipes = setting_of_files(job, RECIPE_CACHE)
    if job.engine != MPIRUN:
        return Site(None if job.engine == SLURM else _interface(job, run), recipes)
    try:
        version = open_mpi_version(job, run)
    except GaudiError:
        # Only to be shown: where something is started, check_node has refused a node without Open MPI before.
        version = version_of_release(NEWEST) or ""
    return Site(None, recipes, version)


def stop(paths: JobPaths, run: Run, *, check_mode: bool, slurm_user: str = "") -> dict[str, object]:
    """End every process of the share, and make sure of it.

    ``slurm_user``: also end a job of this name that this account has in Slurm and that is not known here.
    """
    share = read_share(paths, run)
    engine = (share.description or {}).get("engine")
    if engine == SLURM or (slurm_user and share.state != RUNNING):
        return _stop_slurm(paths, share, slurm_user, run, check_mode)
    active = unit_is_active(paths.unit, run)
    if active and not check_mode:
        group = unit_properties(paths.unit, run, "ControlGroup").get("ControlGroup", "")
        done = run(["systemctl", "stop", paths.unit])
        left = processes_in(group)
        if done.rc != 0 or left or unit_is_active(paths.unit, run):
            raise GaudiError(
                f"job {paths.name} could not be stopped: {done.stderr.strip() or 'processes are left'} "
                f"(process ids {', '.join(map(str, left)) or 'unknown'}); look at `systemctl status {paths.unit}`.",
                processes=left,
            )
        share = read_share(paths, run)
    return _result(paths, share.state, changed=active)


def _stop_slurm(paths: JobPaths, share: Share, user: str, run: Run, check_mode: bool) -> dict[str, object]:
    described = share.description or {}
    user, grace = user or str(described.get("user")), described.get("stop_timeout")
    active = any(job.alive for job in slurm_jobs_of(paths, user, run))
    if active and not check_mode:
        stop_slurm(paths, user, float(grace) if isinstance(grace, int) else STOP_SECONDS, run)
        share = read_share(paths, run)
    return _result(paths, STOPPED if active and not check_mode else share.state, changed=active)


def remove(paths: JobPaths, run: Run, *, check_mode: bool, slurm_user: str = "") -> dict[str, object]:
    """Stop the share and forget its description; checkpoints and logs stay."""
    stopped = stop(paths, run, check_mode=check_mode, slurm_user=slurm_user)
    units = (paths.unit_file, paths.environment, paths.host_file)
    forgotten = (*units, paths.batch_script, paths.slurm_job, paths.description)
    changes = pending([WantedFile(path, None) for path in forgotten])
    if not check_mode and changes:
        for change in changes:
            write(change)
        for path in (paths.started, paths.ended, paths.stop_requested):
            Path(path).unlink(missing_ok=True)
        _systemctl(run, "daemon-reload")
    return _result(paths, ABSENT, changed=bool(stopped["changed"] or changes), diff=differences(changes))


def _interface(job: Job, run: Run) -> str | None:
    """None where the address does not resolve yet, which only a check of a node that is not set up may meet."""
    try:
        return interface_with(address_towards(job.rendezvous_address, job.rendezvous_port), run)
    except GaudiError:
        return None


def _start_unit(paths: JobPaths, run: Run) -> None:
    for change in pending([WantedFile(paths.started, json.dumps({"time": time.time()}) + "\n")]):
        write(change)
    _systemctl(run, "daemon-reload")
    # A unit that failed before keeps its state, and its limit on starts, until it is told to forget them.
    run(["systemctl", "reset-failed", paths.unit])
    done = run(["systemctl", "start", paths.unit])
    if done.rc != 0:
        log = run(["journalctl", "--unit", paths.unit, "--lines", "10", "--no-pager", "--output", "cat"]).stdout
        raise GaudiError(
            f"job {paths.name} did not start: {(log or done.stderr).strip()}\n"
            f"`systemctl status {paths.unit}` on the node tells more.",
            log=log.splitlines(),
        )


def _systemctl(run: Run, *arguments: str) -> None:
    done = run(["systemctl", *arguments])
    if done.rc != 0:
        raise GaudiError(f"systemctl {' '.join(arguments)} failed: {done.stderr.strip()}", rc=done.rc)


def _result(
    paths: JobPaths,
    state: str,
    *,
    changed: bool,
    launch: Mapping[str, object] | None = None,
    diff: Sequence[object] = (),
) -> dict[str, object]:
    return {
        "changed": changed,
        "state": state,
        "unit": paths.unit,
        "argv": (launch or {}).get("argv", []),
        "launch": dict(launch or {}),
        "diff": list(diff),
        "job_directory": paths.directory,
        "log_directory": paths.logs,
    }
