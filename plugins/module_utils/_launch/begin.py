# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Applying a launch: what runs is ended, its files are written, and systemd or Slurm is told to start it."""

from __future__ import annotations

import json
import time
from typing import Mapping, Sequence

from .._errors import GaudiError
from .._follow.worker_group import RUNNING
from .._job.description import SLURM
from .._job.paths import JobPaths
from .._node.commands import Run
from .._node.job_user import account
from .._node.rendered_files import FileChange, WantedFile, pending, write
from .._node.systemd_units import enable, reload_units
from .control_slurm import start_slurm
from .directories import let_read, make_control, make_directories, put_away_logs
from .launch import Launch
from .node_programs import ENTER, RANK, install
from .stop import not_at_boot, stop
from .votes import begin_votes


def begin(launch: Launch, changes: Sequence[FileChange], run: Run) -> str:
    """``changes`` are those of the plan's files. Returns the name of the run; empty where it has none."""
    job, paths = launch.job, launch.paths
    before = launch.worker_group
    described = before.description or {}
    owner = account(job.user)
    if job.is_bound:
        install(paths.rank_programs, RANK)
    if launch.site.entry:
        install(paths.rank_programs, ENTER)
    if before.state == RUNNING:
        stop(paths, run, check_mode=False, slurm_user=job.user if described.get("engine") == SLURM else "")
    put_away_logs(paths, owner)
    if not job.supervision and "supervision" in described:
        # The unit of a supervisor is for the boot, too.
        not_at_boot(paths, run)
    make_control(paths, owner.pw_gid)
    make_directories(job, paths, launch.site.recipe_setting)
    if job.engine == SLURM:
        start_slurm(job, paths, launch.plan, run)
        return ""
    for change in changes:
        write(change)
    let_read(paths, owner.pw_gid)
    name = launch.run_name
    if name:
        begin_votes(job, paths, name, before)
    of_the_run = {"launch": name, "library": launch.library} if name else {}
    _start_unit(paths, {**of_the_run, **_taken(launch)}, run, at_boot=job.supervision is not None)
    return name


def _taken(launch: Launch) -> dict[str, object]:
    """What this run has of the node: another launch leaves it alone, and the next one of the job takes it again."""
    job, site = launch.job, launch.site
    return {
        "binding": [rank.as_dict() for rank in site.binding.ranks],
        "modules": list(site.part.modules),
        "node_cards": len(site.part.cards.modules) if site.part.cards else 0,
        "port": job.port,
        "stands_by": job.node_rank is None,
        "allotted": job.allotted.as_dict(),
    }


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
            f"`systemctl status {paths.unit}` on the node shows more.",
            log=log.splitlines(),
        )
