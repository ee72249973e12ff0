# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Starting, stopping and removing one node's share of a job."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import shutil
import time
from pathlib import Path
from typing import Sequence

from . import recipe_cache
from .commands import Run
from .environment_file import parse
from .errors import GaudiError
from .job_network import address_towards, interface_with, port_is_free
from .job_plan import Job, JobPaths, describe, description_differences, job_environment, torchrun_argv
from .job_state import ABSENT, RUNNING, SUCCEEDED, Share, read_share, tail, unit_is_active, unit_properties
from .job_unit import environment_text, unit_text
from .recipe_cache import RECIPE_CACHE
from .rendered_files import WantedFile, differences, pending, write

KEEP = "keep"
START = "start"
RESTART = "restart"
EARLIER_KEPT = 5
CGROUP_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")


def wanted_files(job: Job, paths: JobPaths, interface: str | None, recipes: str | None = None) -> list[WantedFile]:
    """The files that describe the share; those that may hold a user's secrets are for root alone."""
    return [
        WantedFile(paths.unit_file, unit_text(job, paths)),
        WantedFile(paths.environment, environment_text(job_environment(job, paths, interface, recipes)), mode=0o600),
        WantedFile(paths.description, json.dumps(describe(job), indent=2, sort_keys=True) + "\n", mode=0o600),
    ]


def decide(job: Job, share: Share, restart: bool) -> str:
    """What to do with a share that stands as it does; raises GaudiError when a different job of this name runs."""
    changed = description_differences(share.description or {}, describe(job))
    if share.state == RUNNING and changed:
        raise GaudiError(
            f"job {job.name} is running on {job.host} with another description: {'; '.join(changed)}. "
            "Stop it first, or give the new job another name.",
            differences=changed,
        )
    if share.state == RUNNING:
        return RESTART if restart else KEEP
    if share.state == SUCCEEDED and not changed and not restart:
        return KEEP
    return START


def start(job: Job, paths: JobPaths, run: Run, *, restart: bool, check_mode: bool) -> dict[str, object]:
    """Bring the share to running, or leave one that ended well; see :func:`decide`."""
    share = read_share(paths, run)
    action = decide(job, share, restart)
    if action == KEEP:
        return _result(paths, share.state, changed=False, argv=torchrun_argv(job, paths))
    if not check_mode:
        check_node(job, share)
    recipes = _recipes(job)
    changes = pending(wanted_files(job, paths, _interface(job, run), recipes))
    if not check_mode:
        if action == RESTART:
            stop(paths, run, check_mode=False)
        _put_away_logs(paths)
        _make_directories(job, paths, recipe_directory(job, recipes))
        for change in changes:
            write(change)
        _start_unit(paths, run)
    return _result(paths, RUNNING, changed=True, argv=torchrun_argv(job, paths), diff=differences(changes))


def stop(paths: JobPaths, run: Run, *, check_mode: bool) -> dict[str, object]:
    """End every process of the share, and make sure of it."""
    share = read_share(paths, run)
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


def remove(paths: JobPaths, run: Run, *, check_mode: bool) -> dict[str, object]:
    """Stop the share and forget its description; checkpoints and logs stay."""
    stopped = stop(paths, run, check_mode=check_mode)
    forgotten = (paths.unit_file, paths.environment, paths.description)
    changes = pending([WantedFile(path, None) for path in forgotten])
    if not check_mode and changes:
        for change in changes:
            write(change)
        for path in (paths.started, paths.ended, paths.stop_requested):
            Path(path).unlink(missing_ok=True)
        _systemctl(run, "daemon-reload")
    return _result(paths, ABSENT, changed=bool(stopped["changed"] or changes), diff=differences(changes))


def check_node(job: Job, share: Share) -> None:
    """Raises GaudiError where this node lacks what the share needs; looks, and touches nothing."""
    # A venv that was moved, or whose interpreter was removed, still has its torchrun.
    for program in (f"{job.venv}/bin/torchrun", f"{job.venv}/bin/python"):
        if not os.access(program, os.X_OK):
            raise GaudiError(f"{program} cannot be executed; install the training stack first, or name its venv.")
    if not Path(job.working_directory).is_dir():
        raise GaudiError(f"working_directory {job.working_directory} is no directory on this node; create it there.")
    script = Path(job.working_directory, job.command[0])
    if job.command[0] != "-m" and not script.is_file():
        raise GaudiError(f"command: there is no script {script} on this node; copy it to every node of the job.")
    for path in job.environment_files:
        if not path.startswith("-") and not Path(path).is_file():
            raise GaudiError(f"environment_files: there is no {path} on this node; create it, or put a - before it.")
    _account(job.user)
    address_towards(job.rendezvous_address, job.rendezvous_port)
    if job.node_rank == 0 and share.state != RUNNING and not port_is_free(job.rendezvous_port):
        raise GaudiError(
            f"rendezvous_port {job.rendezvous_port} is in use on {job.host}; choose another port, or stop what uses it."
        )


def processes_in(control_group: str) -> list[int]:
    """The processes of a control group and of those below it, whichever layout of cgroups the node has."""
    found: set[int] = set()
    for mount in CGROUP_MOUNTS if control_group else ():
        for directory, _directories, files in os.walk(mount + control_group):
            if "cgroup.procs" in files:
                found.update(map(int, (tail(f"{directory}/cgroup.procs") or "").split()))
    return sorted(found)


def _interface(job: Job, run: Run) -> str | None:
    """None where the address does not resolve yet, which only a check of a node that is not set up may meet."""
    try:
        return interface_with(address_towards(job.rendezvous_address, job.rendezvous_port), run)
    except GaudiError:
        return None


def _put_away_logs(paths: JobPaths) -> None:
    """Give the new run empty logs, and keep those of a few runs before."""
    old = [path for path in map(Path, (paths.agent_log, paths.metrics, paths.ranks)) if path.exists()]
    if old:
        target = Path(paths.earlier, _sortable(time.time_ns()))
        target.mkdir(parents=True, exist_ok=True)
        for path in old:
            path.rename(target / path.name)
        for path in sorted(Path(paths.earlier).iterdir())[:-EARLIER_KEPT]:
            shutil.rmtree(path)
    for marker in (paths.started, paths.ended, paths.stop_requested):
        Path(marker).unlink(missing_ok=True)


def _sortable(nanoseconds: int) -> str:
    """A time in UTC whose names sort as the times do: 20261121T172311.042000000Z."""
    seconds, rest = divmod(nanoseconds, 10**9)
    return f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(seconds))}.{rest:09}Z"


def recipe_directory(job: Job, recipes: str | None) -> list[str]:
    """The job's own directory for compiled recipes, in a list; empty if the job or nobody names one."""
    if not recipes or RECIPE_CACHE in job.environment:
        return []
    mine = recipe_cache.of_job(recipes, job.name)
    return [] if mine == recipes else [mine.partition(",")[0]]


def _recipes(job: Job) -> str | None:
    """The node's setting of the recipe cache, from the last of the job's environment files that has it."""
    found = None
    for path in job.environment_files:
        # systemd takes more than this reads; such a file is the user's own, and so is its cache.
        with contextlib.suppress(GaudiError):
            text = tail(path.removeprefix("-"), None) or ""
            found = parse(text, path).get(RECIPE_CACHE, found)
    return found


def _make_directories(job: Job, paths: JobPaths, recipes: Sequence[str]) -> None:
    account = _account(job.user)
    for directory in (paths.directory, paths.logs, paths.ranks, *recipes):
        Path(directory).mkdir(parents=True, exist_ok=True)
        os.chown(directory, account.pw_uid, account.pw_gid)


def _account(user: str) -> pwd.struct_passwd:
    try:
        return pwd.getpwnam(user)
    except KeyError:
        raise GaudiError(f"user {user} does not exist on this node; create it on every node of the job.") from None


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
    paths: JobPaths, state: str, *, changed: bool, argv: Sequence[str] = (), diff: Sequence[object] = ()
) -> dict[str, object]:
    return {
        "changed": changed,
        "state": state,
        "unit": paths.unit,
        "argv": list(argv),
        "diff": list(diff),
        "job_directory": paths.directory,
        "log_directory": paths.logs,
    }
