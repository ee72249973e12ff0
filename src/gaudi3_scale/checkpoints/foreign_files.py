# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What another program's directory of checkpoints has on one node. Standard library only.

In it one folder is ours: what is on its way, what was set aside, and ``last_start.json``, written each time before the
ranks start. What has changed on this node since that file was written, its ranks have written.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gaudi3_scale.checkpoints import fence
from gaudi3_scale.checkpoints.foreign_format import is_not_utf8, needed_by, wrong_with
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.json_file import read_json

OWN = ".gaudi3_scale"
MARK = ".gaudi3_scale-"
"""Begins the names of the files by which nodes see that they share a directory."""
LAST_START = "last_start.json"
MOST_FILES = 100_000


@dataclass(frozen=True)
class Found:
    """A file: its bytes; when it was written, in nanoseconds of its writer's clock; ``link``: what it leads to.

    ``fresh``: the ranks of this node have written it since they were last started. ``wrong``: why it is cut off.
    ``needs``: the files beside it that it names.
    """

    bytes: int
    written: int
    fresh: bool = False
    link: str = ""
    wrong: str = ""
    needs: tuple[str, ...] = ()

    @property
    def version(self) -> tuple[int, int, str]:
        """The same for a file and its copies, as long as neither is written again."""
        return self.bytes, self.written, self.link


@dataclass(frozen=True)
class Inventory:
    """What a node has, by path below the directory. ``turn``: how often a start was prepared that it took part in.

    ``folders``: when each was changed last. ``copies``: what came from another node.
    """

    turn: int = 0
    files: Mapping[str, Found] = field(default_factory=dict)
    folders: Mapping[str, int] = field(default_factory=dict)
    copies: tuple[str, ...] = ()

    def as_plain(self) -> dict[str, Any]:
        return asdict(self)


def inventory_from(reported: Any) -> Inventory:
    """The inventory that another node has sent as JSON; ValueError where it is none."""
    try:
        files = {checked_path(path): Found(**about) for path, about in reported["files"].items()}
        whole = {path: Found(**{**asdict(found), "needs": tuple(found.needs)}) for path, found in files.items()}
        folders = {checked_path(path): int(time) for path, time in reported["folders"].items()}
        return Inventory(int(reported["turn"]), whole, folders, tuple(map(checked_path, reported["copies"])))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no inventory: {error}") from error


def checked_path(path: Any) -> str:
    """``path``, which leads nowhere but below the directory, and not to what is ours; else ValueError."""
    parts = path.split("/") if isinstance(path, str) else [""]
    if any(part in ("", ".", "..") or "\0" in part for part in parts) or parts[0] == OWN:
        raise ValueError(f"{str(path)[:80]!r} is not the path of a file below the directory")
    return str(path)


def inventory_of(directory: Path) -> Inventory:
    """Raises GaudiError where there are too many files, OSError where they cannot be read."""
    last = read_json(str(directory / OWN / LAST_START)) or {}
    turn, copies = last.get("turn"), last.get("copies")
    since = (directory / OWN / LAST_START).stat().st_ctime_ns if last else 0
    files: dict[str, Found] = {}
    folders: dict[str, int] = {}
    for path, entry in _entries(directory, ""):
        about = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(about.st_mode):
            folders[path] = about.st_mtime_ns
        elif found := _found(directory, path, about, since):
            files[path] = found
        if len(files) + len(folders) > MOST_FILES:
            raise GaudiError(f"it has more than {MOST_FILES} files; name the directory that has the checkpoints alone")
    kept = tuple(path for path in copies if path in files) if isinstance(copies, list) else ()
    return Inventory(turn if isinstance(turn, int) else 0, files, folders, kept)


def keep_last_start(directory: Path, turn: int, copies: tuple[str, ...]) -> None:
    """To be called when all is in place: what changes later is fresh."""
    new = directory / OWN / f"{LAST_START}.new"
    with new.open("w", encoding="utf-8") as stream:
        json.dump({"turn": turn, "copies": copies}, stream)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(directory / OWN / LAST_START)


def _entries(folder: Path, below: str) -> Iterator[tuple[str, os.DirEntry[str]]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = f"{below}{entry.name}"
            ours = path == OWN or path.startswith(MARK)
            of_fence = entry.name == fence.FILE_NAME or entry.name.startswith(f".{fence.FILE_NAME}.")
            if ours or of_fence or is_not_utf8(entry.name):
                continue
            yield path, entry
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(folder / entry.name, f"{path}/")


def _found(directory: Path, path: str, about: os.stat_result, since: int) -> Found | None:
    """None for what is neither a file that can be read nor a link to something below the directory."""
    fresh = about.st_ctime_ns > since
    if stat.S_ISLNK(about.st_mode):
        target = str((directory / path).readlink())
        # An absolute one wins over what it is joined to.
        inside = os.path.normpath(Path(path).parent / target)
        leads_out = inside.startswith("/") or inside.split("/")[0] == ".." or is_not_utf8(target)
        return None if leads_out else Found(0, about.st_mtime_ns, fresh, link=target)
    if not stat.S_ISREG(about.st_mode):
        return None
    try:
        wrong = wrong_with(directory / path, about.st_size)
        needs = () if wrong else needed_by(directory / path, about.st_size)
    except PermissionError:
        # The ranks run as the same account: they cannot read it either.
        return None
    return Found(about.st_size, about.st_mtime_ns, fresh, wrong=wrong, needs=needs)
