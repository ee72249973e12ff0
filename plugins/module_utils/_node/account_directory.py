# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Directories that the account of a job may change: it could put a link to anything there while root works in them.

Root makes and moves them as entries of a directory of its own. What it does inside them it does with the account's
rights (seteuid(2)): through whatever is put there it then reaches nothing that the account could not reach itself.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from pathlib import Path
from typing import Iterator, Sequence

from .._errors import GaudiError
from .commands import last_line, run_process

# As the kernel itself (path_resolution(7)).
MOST_LINKS = 40
REMOVE_SECONDS = 300.0


@contextlib.contextmanager
def acting_as(account: pwd.struct_passwd) -> Iterator[None]:
    """Work on files with the account's rights. Nothing changes for one who is not root, and for root's own jobs."""
    if os.geteuid() != 0 or account.pw_uid == 0:
        yield
        return
    before = os.getegid(), os.getgroups()
    try:
        os.setgroups(os.getgrouplist(account.pw_name, account.pw_gid))
        os.setegid(account.pw_gid)
        os.seteuid(account.pw_uid)
        yield
    finally:
        os.seteuid(0)
        os.setegid(before[0])
        os.setgroups(before[1])


@contextlib.contextmanager
def acting_as_owner(directory: str) -> Iterator[None]:
    """Work with the rights of whom the directory belongs to, which is an entry of one of root's; or it is not there."""
    try:
        found = Path(directory).stat()
    except OSError:
        yield
        return
    with acting_as(_account_of(found.st_uid, found.st_gid)):
        yield


def _account_of(uid: int, gid: int) -> pwd.struct_passwd:
    """An account that was removed still has files."""
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return pwd.struct_passwd((str(uid), "x", uid, gid, "", "/", "/bin/sh"))


def give(directory: str, account: pwd.struct_passwd) -> None:
    """Make a directory in one of root's, if it is missing, and give it to the account."""
    Path(directory).mkdir(parents=True, exist_ok=True)
    os.chown(directory, account.pw_uid, account.pw_gid)


def remove(paths: Sequence[str]) -> None:
    """Take entries of a directory of root's away with all below them.

    By rm(1), which goes down by descriptors, follows no link, and knows no limit of depth.
    """
    there = [path for path in paths if os.path.lexists(path)]
    if not there:
        return
    done = run_process(["rm", "-rf", "--one-file-system", "--", *there], timeout=REMOVE_SECONDS)
    if done.rc != 0:
        raise GaudiError(f"{there[0]} cannot be removed: {last_line(done.stderr)}; remove it by hand.")


def may_change(path: str, account: pwd.struct_passwd) -> bool:
    """Whether the account could put something else in the place of ``path``, or of a link or directory on the way."""
    if account.pw_uid in (0, os.geteuid()):
        return False
    groups = os.getgrouplist(account.pw_name, account.pw_gid)
    at, left, links = Path("/"), _words(path), 0
    while left:
        word, left = left[0], left[1:]
        try:
            above, found = at.stat(), (at / word).lstat()
        except OSError:
            # What is not there yet comes to be where it is looked for.
            return at.is_dir() and _may_write(at.stat(), account.pw_uid, groups)
        if _may_replace(above, found, account.pw_uid, groups):
            return True
        if not stat.S_ISLNK(found.st_mode):
            at = at.parent if word == ".." else at / word
            continue
        links += 1
        if links > MOST_LINKS:
            return True
        target = str((at / word).readlink())
        at, left = (Path("/") if target.startswith("/") else at), [*_words(target), *left]
    return _may_write(at.stat(), account.pw_uid, groups)


def _words(path: str) -> list[str]:
    return [word for word in path.split("/") if word not in ("", ".")]


def _may_replace(above: os.stat_result, found: os.stat_result, uid: int, groups: Sequence[int]) -> bool:
    sticky = above.st_mode & stat.S_ISVTX and uid not in (above.st_uid, found.st_uid)
    return _may_write(above, uid, groups) and not sticky


def _may_write(found: os.stat_result, uid: int, groups: Sequence[int]) -> bool:
    """An owner may give itself what the mode does not."""
    mode = found.st_mode
    return uid == found.st_uid or bool(mode & stat.S_IWOTH or (mode & stat.S_IWGRP and found.st_gid in groups))
