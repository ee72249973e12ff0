# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Where the sandbox keeps things: everything below ``.sandbox/`` of the checkout, nothing else on the host."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
STATE = CHECKOUT / ".sandbox"
CACHE = Path(os.environ.get("GAUDI_SANDBOX_CACHE", STATE / "cache"))
IMAGE_FILES = CHECKOUT / "sandbox" / "image"
SIMULATOR = CHECKOUT / "sandbox" / "simulator"


def cluster_state(name: str) -> Path:
    """The directory of one sandbox: keys, known_hosts, cluster.json."""
    return STATE / name


def make_directory(path: Path) -> Path:
    """Create ``path`` and give what is new to the owner of the checkout.

    The sandbox needs root for its containers; Ansible afterwards does not, and has to read the keys.
    """
    missing = [parent for parent in (path, *path.parents) if not parent.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for directory in missing:
        give_to_checkout_owner(directory)
    return path


def give_to_checkout_owner(path: Path) -> None:
    """Files made by root under sudo belong to the user whose checkout this is."""
    owner = CHECKOUT.stat()
    os.chown(path, owner.st_uid, owner.st_gid)


def write_state(path: Path, content: str, mode: int = 0o644) -> None:
    """Write a state file in one step, so that a reader never sees half of it."""
    make_directory(path.parent)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_text(content, encoding="utf-8")
    temporary.chmod(mode)
    give_to_checkout_owner(temporary)
    temporary.replace(path)


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """One command at a time works on ``directory``; a second one waits."""
    make_directory(directory)
    # The directory itself: nothing of it is to be left in one that would be empty.
    opened = os.open(directory, os.O_RDONLY)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX)
        yield
    finally:
        os.close(opened)
