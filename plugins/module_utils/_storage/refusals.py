# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What on a node is in the way of a mount, said before anything is touched."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run
from .._node.rendered_files import read_text
from .mounts import ABSENT, Mount
from .units import HEADING, Node, fstab_line, wanted_unit

_ANSWER_S, _BLKID_S = 5.0, 60


def refuse(mount: Mount, node: Node, run: Run) -> None:
    """What is another's is not touched, and nothing is hidden that lies where something is to be mounted."""
    unit = wanted_unit(mount, node.etc)
    text = read_text(unit.path)
    line = fstab_line(mount.path, node.etc)
    if line is not None:
        raise GaudiError(f"{mount.path} is in {node.etc}/fstab line {line}; remove it there, or from mounts.")
    if text is not None and not text.startswith(HEADING):
        raise GaudiError(
            f"{unit.path} was not created by this collection; remove it, or remove {mount.path} from mounts."
        )
    there = node.mounted().get(mount.path)
    if there and text is None:
        raise GaudiError(
            f"{there.source} is mounted at {mount.path} by somebody else; unmount it, or remove it from mounts."
        )
    if mount.state == ABSENT or there:
        return
    _refuse_place(mount.path)
    if mount.is_network:
        _refuse_silence(mount)
    else:
        _refuse_disk(mount, run)


def _refuse_place(path: str) -> None:
    place = Path(path)
    if os.path.realpath(path) != path:
        raise GaudiError(f"{path} leads to {os.path.realpath(path)}; name that place, or remove the link.")
    for parent in place.parents:
        about = parent.stat() if parent.exists() else None
        open_to_others = about and about.st_mode & 0o022 and not about.st_mode & stat.S_ISVTX
        if about and (about.st_uid != os.geteuid() or open_to_others):
            raise GaudiError(
                f"{parent} can be written by users other than root, who could exchange {path}; mount it elsewhere."
            )
    if place.is_dir() and any(place.iterdir()):
        raise GaudiError(f"{path} is not empty, and a mount would hide what is there; move it away first.")
    if place.exists() and not place.is_dir():
        raise GaudiError(f"{path} is not a directory; remove it first.")


def _refuse_silence(mount: Mount) -> None:
    if mount.server is None:
        return
    try:
        socket.create_connection(mount.server, timeout=_ANSWER_S).close()
    except OSError as error:
        host, port = mount.server
        raise GaudiError(
            f"{host} does not answer at port {port}, for {mount.path} ({error.strerror or error}); check whether it "
            "serves NFS, and whether a firewall is in between."
        ) from error


def _refuse_disk(mount: Mount, run: Run) -> None:
    """Nothing is ever formatted."""
    done = run(["blkid", "--output", "value", "--match-tag", "TYPE", mount.source], timeout=_BLKID_S)
    found = done.stdout.strip()
    if found != mount.type:
        has = f"has {found}" if found else "has no file system, or is not there"
        raise GaudiError(
            f"{mount.source} {has}, and {mount.type} is to be mounted at {mount.path}; nothing is formatted."
        )
