# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A job's directories on a node: made for its account, and cleared for its next run."""

from __future__ import annotations

import errno
import os
import pwd
import time
from pathlib import Path

from .._errors import GaudiError
from .._flags import recipe_cache
from .._flags.recipe_cache import RECIPE_CACHE
from .._job.environment_files import Setting
from .._job.paths import JobPaths
from .._job.plan import Job
from .._node.account_directory import OF_MKFS, acting_as, give, let_group_read, remove
from .._node.job_user import account
from .._node.path_writers import may_change

EARLIER_KEPT = 5


def put_away_logs(paths: JobPaths, owner: pwd.struct_passwd) -> None:
    """Give the new run empty logs, and keep those of a few runs before.

    The account's directory is moved as a whole: nothing in it is looked at. Where it is a file system, or one begins
    above it, what is in it stays on that, and ``owner`` moves it.
    """
    seconds, rest = divmod(time.time_ns(), 10**9)
    # In UTC, and so that the names sort as the times do: 20261121T172311.042000000Z.
    stamp = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(seconds))}.{rest:09}Z"
    try:
        _put_away(paths.logs, f"{paths.earlier}/{stamp}")
    except OSError as error:
        if error.errno not in (errno.EBUSY, errno.EXDEV):
            raise _stuck(paths.logs, f"{paths.earlier}/{stamp}", error) from error
        _put_away_within(paths, stamp, owner)
    try:
        _put_away(paths.agent_log, f"{paths.agent_logs}/{stamp}.log")
    except OSError as error:
        raise _stuck(paths.agent_log, f"{paths.agent_logs}/{stamp}.log", error) from error
    logs = sorted(map(str, Path(paths.earlier).glob("*")))[:-EARLIER_KEPT]
    agents = sorted(map(str, Path(paths.agent_logs).glob("*Z.log")))[:-EARLIER_KEPT]
    remove([*logs, *agents])
    remove([paths.started, paths.ended, paths.stop_requested, paths.unit_stopped, paths.status])


def _put_away(path: str, target: str) -> None:
    if os.path.lexists(path):
        Path(target).parent.mkdir(parents=True, exist_ok=True)
        Path(path).rename(target)


def _put_away_within(paths: JobPaths, stamp: str, owner: pwd.struct_passwd) -> None:
    target = Path(paths.earlier_within, stamp)
    give(paths.logs, owner, instead_of_empty=True)
    with acting_as(owner):
        try:
            entries = [one for one in Path(paths.logs).iterdir() if one.name not in (target.parent.name, OF_MKFS)]
            if entries:
                target.mkdir(parents=True)
            for entry in entries:
                entry.rename(target / entry.name)
        except OSError as error:
            raise _stuck(paths.logs, str(target), error) from error
        remove(sorted(map(str, target.parent.glob("*Z")))[:-EARLIER_KEPT])


def _stuck(path: str, target: str, error: OSError) -> GaudiError:
    return GaudiError(
        f"the logs of the last run, {path}, cannot be moved to {target}: {error.strerror}; move them by hand."
    )


def make_control(paths: JobPaths, group: int) -> None:
    """Root's directory for what the job is told, in which its account's group may look for what it is to read."""
    for directory in (paths.control, paths.agent_logs):
        Path(directory).mkdir(parents=True, exist_ok=True)
        let_group_read(directory, group, 0o750)


def let_read(paths: JobPaths, group: int) -> None:
    """What the job's own programs read of it, as that group, while it stays root's."""
    for path in (paths.supervision, paths.host_file, paths.batch_script):
        let_group_read(path, group)


def make_directories(job: Job, paths: JobPaths, recipe_setting: Setting | None) -> None:
    """The account's directories: those in root's are given to it, and what is below them it makes itself.

    ``recipe_setting`` is what the last of the job's files says of compiled recipes, below whose place the job has a
    directory of its own. Where another account than root's may change that file, root makes nothing there: that account
    could name any place.
    """
    owner = account(job.user)
    recipes, is_own = "", False
    if recipe_setting and recipe_setting.value and RECIPE_CACHE not in job.environment:
        mine = recipe_cache.of_job(recipe_setting.value, job.name)
        recipes = "" if mine == recipe_setting.value else mine.partition(",")[0]
        is_own = bool(recipes) and (recipe_setting.is_of_others or may_change(recipes, owner))
    for directory in (paths.directory, paths.logs):
        give(directory, owner, instead_of_empty=True)
    if recipes and not is_own:
        give(recipes, owner)
    watched = (paths.progress,) if job.supervision else ()
    with acting_as(owner):
        for directory in (paths.ranks, *watched, *([recipes] if is_own else [])):
            try:
                Path(directory).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise GaudiError(
                    f"{directory} cannot be made by {job.user}: {error.strerror}; let that account write there, or "
                    "remove what is in its place."
                ) from error


def check_places(job: Job, paths: JobPaths) -> None:
    """Refuse a place for root's files that the job's account may change."""
    owner = account(job.user)
    for option in ("state_directory", "log_directory"):
        place = getattr(paths, option)
        if may_change(f"{place}/x", owner):
            raise GaudiError(
                f"{option} {place} can be changed by {job.user}, the job's own account; name a directory that only "
                "root may write."
            )
