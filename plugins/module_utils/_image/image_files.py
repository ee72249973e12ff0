# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of an image that is mounted on this host: nothing outside of it is read, wherever its links lead."""

from __future__ import annotations

import stat
from pathlib import Path

_MOST_LINKS = 40
LARGEST = 1 << 27


def inside(root: Path, path: str) -> Path | None:
    """Where ``path`` of the image lies on this host, with all its links followed as in the image; None: nowhere."""
    left = [part for part in path.split("/") if part]
    here: list[str] = []
    links = 0
    while left:
        part = left.pop(0)
        if part == ".":
            continue
        if part == "..":
            here = here[:-1]
            continue
        candidate = root.joinpath(*here, part)
        try:
            mode = candidate.lstat().st_mode
        except OSError:
            return None
        if not stat.S_ISLNK(mode):
            here.append(part)
            continue
        links += 1
        if links > _MOST_LINKS:
            return None
        target = str(candidate.readlink())
        here = [] if target.startswith("/") else here
        left = [part for part in target.split("/") if part] + left
    return root.joinpath(*here)


def text_of(root: Path, path: str) -> str:
    """The text of a regular file of the image; empty where there is none."""
    found = inside(root, path)
    if found is None or not found.is_file() or found.stat().st_size > LARGEST:
        return ""
    return found.read_bytes().decode("utf-8", "replace")


def names_in(root: Path, path: str) -> list[str]:
    """The names in a directory of the image, sorted; none where there is no such directory."""
    found = inside(root, path)
    return sorted(entry.name for entry in found.iterdir()) if found is not None and found.is_dir() else []
