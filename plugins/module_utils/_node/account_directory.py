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
from pathlib import Path
from typing import Iterator, Sequence

from .._errors import GaudiError
from .commands import last_line, run_process
from .path_writers import may_change

# A new file system has it; it is root's.
OF_MKFS = "lost+found"
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
    with acting_as(account_of(found.st_uid, found.st_gid)):
        yield


def account_of(uid: int, gid: int) -> pwd.struct_passwd:
    """An account that was removed still has files."""
    try:
        return pwd.getpwuid(uid)
    except KeyError:
        return pwd.struct_passwd((str(uid), "x", uid, gid, "", "/", "/bin/sh"))


def give(
    directory: str,
    account: pwd.struct_passwd,
    mode: int = 0o755,
    *,
    instead_of_empty: bool = False,
    made_by_us: bool = False,
) -> None:
    """Make a directory in one of root's and give it to the account; one that is the account's already stays.

    Nothing that was there before is given to another owner, but for a file system that was mounted there and is empty:
    whatever the place is called, others may rely on what they find in it. ``instead_of_empty``: an empty one of root's
    makes room for it, where nobody else knows the place. ``made_by_us``: one of root's is handed over, and what is in
    it stays whose it is: an earlier run has made it before there was the account. GaudiError for what was there, for a
    link, and for a place on the way that the account may change.
    """
    if os.geteuid() != 0:
        Path(directory).mkdir(parents=True, exist_ok=True)
        return
    above, name = os.path.split(os.path.normpath(directory))
    if may_change(above, account):
        raise GaudiError(
            f"{above} can be changed by {account.pw_name}, so root creates nothing for that account there; name a "
            "directory that only root may write."
        )
    Path(above).mkdir(parents=True, exist_ok=True)
    with _opened(above) as parent:
        if instead_of_empty:
            _remove_empty(name, parent)
        made = _made(name, mode, parent)
        try:
            with _opened(name, parent) as own:
                is_ours = made_by_us and os.fstat(own).st_uid == 0
                _hand_over(own, parent, directory, account, mode, made=made or is_ours)
        except OSError as error:
            raise GaudiError(
                f"{directory} is not a directory ({error.strerror}); remove what is in its place."
            ) from error


def check_given(directory: str, account: pwd.struct_passwd) -> None:
    """What :func:`give` with ``instead_of_empty`` would refuse, while nothing has been touched yet."""
    try:
        found = os.lstat(directory)
        is_free = found.st_uid == 0 and {one.name for one in Path(directory).iterdir()} <= {OF_MKFS}
    except OSError:
        return
    if os.geteuid() == 0 and found.st_uid != account.pw_uid and not is_free:
        raise not_its_own(directory, found.st_uid, account)


def _remove_empty(name: str, parent: int) -> None:
    """One of root's; what holds something, is mounted, or is no directory, stays (rmdir(2))."""
    with contextlib.suppress(OSError):
        if os.stat(name, dir_fd=parent, follow_symlinks=False).st_uid == 0:
            os.rmdir(name, dir_fd=parent)


def _made(name: str, mode: int, parent: int) -> bool:
    try:
        os.mkdir(name, mode, dir_fd=parent)
    except FileExistsError:
        return False
    return True


def _hand_over(own: int, parent: int, directory: str, account: pwd.struct_passwd, mode: int, *, made: bool) -> None:
    found = os.fstat(own)
    if found.st_uid == account.pw_uid and not made:
        return
    is_new_mount = found.st_uid == 0 and found.st_dev != os.fstat(parent).st_dev and set(os.listdir(own)) <= {OF_MKFS}
    if not made and not is_new_mount:
        raise not_its_own(directory, found.st_uid, account)
    if made:
        # What the umask has taken.
        os.fchmod(own, mode)
    os.fchown(own, account.pw_uid, account.pw_gid)


def not_its_own(directory: str, owner: int, account: pwd.struct_passwd) -> GaudiError:
    """What is said of a directory of another account's, which nobody is given."""
    other = account_of(owner, owner).pw_name
    return GaudiError(
        f"{directory} already exists and belongs to {other}, and {account.pw_name} cannot continue in it; set user "
        f"(gaudi_training_user) to {other}, or, if nobody else needs it, remove it or change its owner on every node "
        f"(chown -R {account.pw_name}: {directory})."
    )


def let_group_read(path: str, group: int, mode: int | None = None) -> None:
    """Let a group into what is root's own: the file or directory itself, never what a link there leads to.

    Nothing where there is nothing, and nothing for one who is not root and not of the group.
    """
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if os.fstat(opened).st_uid != os.geteuid():
            raise GaudiError(f"{path} belongs to account {os.fstat(opened).st_uid}, and not to root; remove it.")
        os.fchown(opened, -1, group)
        if mode is not None:
            os.fchmod(opened, mode)
    finally:
        os.close(opened)


@contextlib.contextmanager
def _opened(path: str, directory: int | None = None) -> Iterator[int]:
    """A directory itself, so that nobody puts another one in its place meanwhile."""
    no_link = os.O_NOFOLLOW if directory is not None else 0
    opened = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | no_link, dir_fd=directory)
    try:
        yield opened
    finally:
        os.close(opened)


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
