# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What of the node a job's container sees, and where: as values, in the form ``HOST:CONTAINER:ro``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..._errors import GaudiError
from ..paths import STATE_DIRECTORY

OPTION = "mounts"
# What the container has of its own, or of the node's kernel: over it nothing is put, and of the node nothing is shown.
NODES_OWN = ("/etc", "/usr", "/dev", "/proc", "/sys", "/run", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/var/run")
# root's files of all jobs, with the keys of their runs.
CONTROL = "control"
_PATH = re.compile(r"/[^:,\0\n]*")
READ_ONLY, WRITABLE = "ro", "rw"


@dataclass(frozen=True)
class Mount:
    """``source`` on the node is ``target`` in the container."""

    source: str
    target: str
    read_only: bool = False

    @property
    def word(self) -> str:
        return f"{self.source}:{self.target}:{READ_ONLY if self.read_only else WRITABLE}"


def same_place(path: str, *, read_only: bool = False) -> Mount:
    """A directory that a program finds by the path that it has on the node."""
    return Mount(path, path, read_only)


def parse_mount(word: str) -> Mount:
    """``HOST[:CONTAINER[:ro]]``, or GaudiError for what is none."""
    source, *rest = word.split(":")
    target, mode = [*rest[:2], "", ""][:2]
    if target in (READ_ONLY, WRITABLE) and not mode:
        target, mode = "", target
    mount = Mount(_plain(source), _plain(target or source), mode == READ_ONLY)
    paths = (mount.source, mount.target)
    is_path = all(_PATH.fullmatch(path) and ".." not in path.split("/") for path in paths)
    if word.startswith("-") or len(rest) > 2 or mode not in ("", READ_ONLY, WRITABLE) or not is_path:
        raise GaudiError(
            f"{OPTION} has {word!r:.120}; give HOST, HOST:CONTAINER or HOST:CONTAINER:ro, with absolute paths without "
            "colons and commas."
        )
    return mount


def check_mounts(words: Sequence[str], state_directory: str = STATE_DIRECTORY) -> tuple[Mount, ...]:
    """The mounts, or GaudiError for one that would cover, or hand over, what is the node's own."""
    mounts = tuple(map(parse_mount, words))
    for mount in mounts:
        for path in (mount.source, mount.target):
            own = owned_by_node(path, state_directory)
            if own:
                raise GaudiError(
                    f"{OPTION} has {mount.source}:{mount.target}, and {path} holds what belongs to the node ({own}); "
                    "mount only the directory that the program needs, at a path of its own."
                )
    targets = [mount.target for mount in mounts]
    twice = next((target for target in targets if targets.count(target) > 1), None)
    if twice:
        raise GaudiError(f"{OPTION} names {twice} in the container more than once; mount one directory there.")
    return mounts


def owned_by_node(path: str, state_directory: str) -> str:
    """What of the node's own is at ``path``, below it, or above it; "" for nothing."""
    control = f"{state_directory}/{CONTROL}"
    if path == "/":
        return "/"
    if _is_within(path, control) or _is_within(control, path):
        return control
    return next((own for own in NODES_OWN if _is_within(path, own) or _is_within(own, path)), "")


def without_covered(mounts: Iterable[Mount]) -> tuple[Mount, ...]:
    """The mounts in the order in which they have to be made, each target once: what stands later wins."""
    by_target = {mount.target: mount for mount in mounts}
    return tuple(by_target[target] for target in sorted(by_target))


def on_node(path: str, mounts: Iterable[Mount]) -> str:
    """Where on the node a path of the container lies that a mount brings; "" for one in the image itself."""
    for mount in sorted(mounts, key=lambda one: -len(one.target)):
        if _is_within(path, mount.target):
            return mount.source + path[len(mount.target) :]
    return ""


def _is_within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(f"{directory.rstrip('/')}/")


def _plain(path: str) -> str:
    return path.rstrip("/") or path[:1]
