# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A job's directories on a node: made for its account, and cleared for its next run."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Sequence

from ..job import recipe_cache
from ..job.paths import JobPaths
from ..job.plan import Job
from ..job.recipe_cache import RECIPE_CACHE
from ..job.user import account
from ..monitoring.sweep import logged_points

EARLIER_KEPT = 5


def put_away_logs(paths: JobPaths) -> None:
    """Give the new run empty logs, and keep those of a few runs before."""
    points = [point.logs for point in logged_points(paths).values()]
    kept = (paths.agent_log, paths.metrics, paths.ranks, paths.events, paths.usage, paths.stacks, *points)
    old = [path for path in map(Path, kept) if path.exists()]
    if old:
        target = Path(paths.earlier, _sortable(time.time_ns()))
        target.mkdir(parents=True, exist_ok=True)
        for path in old:
            path.rename(target / path.name)
        for path in sorted(Path(paths.earlier).iterdir())[:-EARLIER_KEPT]:
            shutil.rmtree(path)
    for marker in (paths.started, paths.ended, paths.stop_requested, paths.status):
        Path(marker).unlink(missing_ok=True)
    shutil.rmtree(paths.progress, ignore_errors=True)


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


def make_directories(job: Job, paths: JobPaths, recipes: Sequence[str]) -> None:
    owner = account(job.user)
    watched = (paths.progress,) if job.supervision else ()
    for directory in (paths.directory, paths.logs, paths.ranks, *watched, *recipes):
        Path(directory).mkdir(parents=True, exist_ok=True)
        os.chown(directory, owner.pw_uid, owner.pw_gid)
