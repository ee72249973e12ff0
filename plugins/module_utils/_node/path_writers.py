# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Who could put something else in the place of a path, or of a link or directory on the way to it."""

from __future__ import annotations

import contextlib
import errno
import os
import pwd
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

# As the kernel itself (path_resolution(7)).
MOST_LINKS = 40
# Rights of single accounts, of which a mode shows no more than that there are some (acl(5)).
_ACCESS_LIST = "system.posix_acl_access"


class Place(NamedTuple):
    """A file, link or directory on the way, and what it is."""

    path: str
    found: os.stat_result


# Whether somebody may write to a place, and whether a place is somebody's own.
MayWrite = Callable[[Place], bool]
Owns = Callable[[os.stat_result], bool]


def may_change(path: str, account: pwd.struct_passwd) -> bool:
    """Whether the account could put something else in the place of ``path``, or of a link or directory on the way."""
    if account.pw_uid in (0, os.geteuid()):
        return False
    uid, groups = account.pw_uid, os.getgrouplist(account.pw_name, account.pw_gid)

    def may_write(place: Place) -> bool:
        mode = place.found.st_mode
        # An owner may give itself what the mode does not.
        if uid == place.found.st_uid or mode & stat.S_IWOTH:
            return True
        return bool(mode & stat.S_IWGRP) and (place.found.st_gid in groups or _has_access_list(place.path))

    try:
        return _weak_place(path, may_write, lambda found: uid == found.st_uid) is not None
    except OSError:
        # What goes away meanwhile, and links without an end, are somebody's to change.
        return True


def others_place(path: str) -> Place | None:
    """The first place on the way to ``path``, itself included, that another account than root's may change.

    None: nobody may; so it is for a caller who is not root, and has no more rights than whoever could. OSError for what
    cannot be looked at.
    """
    if os.geteuid() != 0:
        return None

    def may_write(place: Place) -> bool:
        return place.found.st_uid != 0 or bool(place.found.st_mode & (stat.S_IWGRP | stat.S_IWOTH))

    return _weak_place(path, may_write, lambda found: found.st_uid != 0)


def is_roots(path: str) -> bool:
    """Whether nobody but root may change what is found at ``path``; what cannot be looked at is not root's."""
    try:
        return others_place(path) is None
    except OSError:
        return False


def words_for(place: Place) -> str:
    """``/opt/x belongs to account 1000 (mode 0755)``."""
    return f"{place.path} belongs to account {place.found.st_uid} (mode {stat.S_IMODE(place.found.st_mode):04o})"


def _weak_place(path: str, may_write: MayWrite, owns: Owns) -> Place | None:
    """The first place that may be written, or be replaced, by whom the two functions speak of."""
    for above, place in _way(path):
        if place is None:
            # What is not there yet comes to be where it is looked for.
            return above if may_write(above) else None
        sticky = above.found.st_mode & stat.S_ISVTX and not owns(above.found) and not owns(place.found)
        if may_write(above) and not sticky:
            return above
        if not stat.S_ISLNK(place.found.st_mode) and owns(place.found):
            return place
        last = place
    # A link has no mode of its own; what it leads to comes after it.
    return last if may_write(last) and not stat.S_ISLNK(last.found.st_mode) else None


def _way(path: str) -> Iterator[tuple[Place, Place | None]]:
    """Each step of the way: the directory, and what is in it under the next word; None where nothing is."""
    left, links = _words(path), 0
    above = _at("/")
    if not left:
        yield above, above
    while left:
        word, left = left[0], left[1:]
        name = str(Path(above.path, word))
        try:
            place = Place(name, Path(name).lstat())
        except OSError:
            yield above, None
            return
        yield above, place
        if not stat.S_ISLNK(place.found.st_mode):
            above = place if word != ".." else _at(str(Path(above.path).parent))
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
        target = str(Path(name).readlink())
        left = [*_words(target), *left]
        if target.startswith("/"):
            above = _at("/")


def _at(path: str) -> Place:
    return Place(path, Path(path).stat())


def _words(path: str) -> list[str]:
    return [word for word in path.split("/") if word not in ("", ".")]


def _has_access_list(path: str) -> bool:
    with contextlib.suppress(OSError):
        return bool(os.getxattr(path, _ACCESS_LIST))
    return False
