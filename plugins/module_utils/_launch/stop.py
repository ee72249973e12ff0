# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Stopping and removing one node's worker group of a job, and how a worker group is reported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._follow.state import read_worker_group
from .._follow.worker_group import ABSENT, RUNNING, STOPPED, WorkerGroup
from .._follow.worker_group_slurm import slurm_jobs_of
from .._job.description import SLURM
from .._job.job_secrets import shown_differences
from .._job.paths import JobPaths, known_jobs
from .._node.account_directory import remove as remove_entries
from .._node.commands import Run
from .._node.lock import SHORT_S, exclusive
from .._node.process_tree import processes_in
from .._node.rendered_files import WantedFile, pending, write
from .._node.systemd_units import disable, has_processes, reload_units, unit_properties
from .control_slurm import request_stop, stop_slurm

STOP_SECONDS = 60.0


def stop(paths: JobPaths, run: Run, *, check_mode: bool, slurm_user: str = "") -> dict[str, object]:
    """End every process of the worker group, and make sure of it.

    ``slurm_user``: also end a job of this name that this account has in Slurm and that is not known here.
    """
    worker_group = read_worker_group(paths, run)
    engine = (worker_group.description or {}).get("engine")
    if engine == SLURM or (slurm_user and worker_group.state != RUNNING):
        return _stop_slurm(paths, worker_group, slurm_user, run, check_mode)
    active = has_processes(run, paths.unit)
    if active and not check_mode:
        group = unit_properties(run, paths.unit, "ControlGroup").get("ControlGroup", "")
        # Before the signal: without it a supervisor takes its own node to be going down, and the others go on.
        request_stop(paths)
        done = run(["systemctl", "stop", paths.unit])
        left = processes_in(group)
        if done.rc != 0 or left or has_processes(run, paths.unit):
            raise GaudiError(
                f"job {paths.name} could not be stopped: {done.stderr.strip() or 'processes are left'} "
                f"(process ids {', '.join(map(str, left)) or 'unknown'}); look at `systemctl status {paths.unit}`.",
                processes=left,
            )
        worker_group = read_worker_group(paths, run)
        # Ranks that were told to end do not end with 0, and systemd would show a node with a failed unit for it; but
        # where no end could be recorded, only systemd still knows it.
        if os.path.lexists(paths.ended):
            run(["systemctl", "reset-failed", paths.unit])
    return _stopped(paths, worker_group.state, changed=active)


def _stopped(paths: JobPaths, state: str, *, changed: bool) -> dict[str, object]:
    """The result. Of a job that this node does not know also which ones it knows: its name may be mistyped."""
    return {
        **worker_group_result(paths, state, changed=changed),
        **({"jobs": known_jobs(paths)} if state == ABSENT else {}),
    }


def _stop_slurm(paths: JobPaths, worker_group: WorkerGroup, user: str, run: Run, check_mode: bool) -> dict[str, object]:
    described = worker_group.description or {}
    user, grace = user or str(described.get("user")), described.get("stop_timeout")
    active = any(job.alive for job in slurm_jobs_of(paths, user, run))
    if active and not check_mode:
        stop_slurm(paths, user, float(grace) if isinstance(grace, int) else STOP_SECONDS, run)
        worker_group = read_worker_group(paths, run)
    return _stopped(paths, STOPPED if active and not check_mode else worker_group.state, changed=active)


def remove(paths: JobPaths, run: Run, *, check_mode: bool, slurm_user: str = "") -> dict[str, object]:
    """Stop the worker group and forget its description; checkpoints and logs stay."""
    stopped = stop(paths, run, check_mode=check_mode, slurm_user=slurm_user)
    units = (paths.unit_file, paths.environment, paths.host_file, paths.supervision)
    copies = sorted(map(str, Path(paths.control).glob("environment-*")))
    forgotten = (*units, *copies, paths.batch_script, paths.slurm_job, paths.description)
    changes = pending([WantedFile(path, None) for path in forgotten])
    reported = (paths.control, paths.ended, paths.unit_stopped, paths.status, paths.votes)
    left = list(filter(os.path.lexists, reported))
    if not check_mode and (changes or left):
        # The lock of a start: nothing is begun from what is half gone.
        with exclusive(f"job-{paths.name}", SHORT_S, directory=paths.state_directory, remedy="wait for it to finish"):
            not_at_boot(paths, run)
            for change in pending([WantedFile(path, None) for path in forgotten]):
                write(change)
            remove_entries(left)
            reload_units(run)
    diff = shown_differences(changes, paths)
    return worker_group_result(paths, ABSENT, changed=bool(stopped["changed"] or changes or left), diff=diff)


def not_at_boot(paths: JobPaths, run: Run) -> None:
    """Take the worker group's unit out of the boot, while its file is there to say what there is to undo."""
    if Path(paths.unit_file).exists():
        disable(run, paths.unit)


def worker_group_result(
    paths: JobPaths,
    state: str,
    *,
    changed: bool,
    launch: Mapping[str, object] | None = None,
    run: str = "",
    library: str = "",
    diff: Sequence[object] = (),
) -> dict[str, object]:
    return {
        "changed": changed,
        "state": state,
        "unit": paths.unit,
        "argv": (launch or {}).get("argv", []),
        "launch": dict(launch or {}),
        "run": run,
        "library": library,
        "diff": list(diff),
        "control_directory": paths.control,
        "job_directory": paths.directory,
        "log_directory": paths.logs,
    }
