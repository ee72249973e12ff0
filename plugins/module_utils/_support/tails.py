# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The ends of files in directories that a job's account may write: nothing is read through what it has put there.

Root goes down by descriptors and through no link. A file with a second name may be anybody's, so that it is none.
"""

from __future__ import annotations

import itertools
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .._node.regular_file import open_regular
from .size import whole_lines

# Entries of one directory, and of all below the first one: an account may make as many as it likes.
MOST_ENTRIES, MOST_SEEN = 5000, 20_000


@dataclass(frozen=True)
class Tail:
    """The end of a file, ``name`` below its directory; ``cut``: only the end. ``why`` it has no text."""

    name: str
    text: str = ""
    cut: bool = False
    why: str = ""


@dataclass(frozen=True)
class Below:
    """``wanted`` says by its name below the directory whether a file counts. ``bytes_each`` are read of a file."""

    directory: str
    depth: int
    wanted: Callable[[str], bool]
    most_files: int
    bytes_each: int


def tails(below: Below) -> list[Tail]:
    """Of the newest files; what is there and may not be read says why."""
    try:
        top = _open_directory(below.directory, None)
    except FileNotFoundError:
        return []
    except OSError as error:
        return [Tail("", why=f"{below.directory} is not read: {error.strerror}")]
    try:
        seen = itertools.islice(_walk(top, "", below.depth), MOST_SEEN)
        wanted = [(changed, name) for name, changed in seen if changed is not None and below.wanted(name)]
        newest = sorted(wanted, reverse=True)[: below.most_files]
        return [_tail(top, name, below.bytes_each) for _changed, name in sorted(newest, key=lambda pair: pair[1])]
    finally:
        os.close(top)


def tail_of(path: str, most: int) -> Tail | None:
    """Of a single file in a directory of root's; None where it is not there."""
    directory, name = os.path.split(path)
    try:
        top = _open_directory(directory, None)
    except OSError:
        return None
    try:
        os.stat(name, dir_fd=top, follow_symlinks=False)
        return _tail(top, name, most)
    except FileNotFoundError:
        return None
    finally:
        os.close(top)


def _walk(directory: int, above: str, depth: int) -> Iterator[tuple[str, float | None]]:
    """Each entry's name, and of a regular file when it was changed. Nothing of another file system is gone into."""
    device = os.fstat(directory).st_dev
    with os.scandir(directory) as entries:
        seen = [entry.name for _number, entry in zip(range(MOST_ENTRIES), entries)]
    for name in sorted(seen):
        try:
            about = os.stat(name, dir_fd=directory, follow_symlinks=False)
            yield above + name, about.st_mtime if stat.S_ISREG(about.st_mode) else None
            if stat.S_ISDIR(about.st_mode) and depth > 1 and about.st_dev == device:
                opened = _open_directory(name, directory)
                try:
                    yield from _walk(opened, f"{above}{name}/", depth - 1)
                finally:
                    os.close(opened)
        except OSError:
            # It went, or became something else, while this was looking.
            continue


def _tail(top: int, name: str, most: int) -> Tail:
    *folders, file = name.split("/")
    opened: list[int] = []
    try:
        directory = top
        for folder in folders:
            directory = _open_directory(folder, directory)
            opened.append(directory)
        with open_regular(file, directory) as stream:
            about = os.fstat(stream.fileno())
            if about.st_nlink != 1:
                return Tail(name, why="it has several names, so that it may be another file")
            stream.seek(max(0, about.st_size - most))
            text = stream.read(most).decode(errors="replace")
            cut = about.st_size > most
            return Tail(name, whole_lines(text, is_end=cut), cut)
    except OSError as error:
        return Tail(name, why=str(error.strerror or error))
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _open_directory(name: str, directory: int | None) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
