# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Jobs that an earlier collection has launched: what root wrote lies among the files of the job's account.

It is believed as far as root wrote it, to find such a job again, show it and end it. No launch goes by it.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from .._node.json_file import read_json
from .paths import JobPaths

# What was root's in the account's directory.
CONTROL = ("job.json", "environment", "batch.sh", "slurm.json", "hosts", "supervision.json", "started.json")


def old_files(paths: JobPaths) -> list[str]:
    """What such a launch left where the account may change it."""
    places = (f"{paths.directory}/{name}" for name in CONTROL)
    return [place for place in places if os.path.lexists(place)]


def read_control(path: str, paths: JobPaths) -> dict[str, object] | None:
    """A JSON file of root's; of a job that was launched so the one among the account's, if it is as root left it."""
    found = read_json(path)
    if found is not None or Path(paths.description).exists():
        return found
    old = f"{paths.directory}/{Path(path).name}"
    return read_json(old) if _is_roots(old) else None


def is_old(paths: JobPaths) -> bool:
    """Whether the job was launched so, and not again since."""
    return not Path(paths.description).exists() and _is_roots(f"{paths.directory}/job.json")


def _is_roots(path: str) -> bool:
    """A regular file of root's that nobody else can have written: no link to another one, no mode that lets others."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    is_own = stat.S_ISREG(found.st_mode) and found.st_nlink == 1 and not found.st_mode & 0o022
    return is_own and found.st_uid == os.geteuid()
