# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is to be mounted, as options; pure: refused is what cannot work, or what would lose data where it does."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._errors import GaudiError
from .sizes import bytes_of

NFS, LUSTRE = "nfs", "lustre"
NETWORK = (NFS, LUSTRE)
TYPES = (NFS, LUSTRE, "ext4", "xfs")
MOUNTED, ABSENT = "mounted", "absent"
# nfs(5), mount.lustre(8), mount(8). A server's last access times are its own: noatime does nothing on an NFS client.
DEFAULT_OPTIONS: Mapping[str, tuple[str, ...]] = {
    NFS: ("hard",),
    LUSTRE: ("flock", "noatime"),
    "ext4": ("noatime",),
    "xfs": ("noatime",),
}
# What a node cannot boot or be entered without; and what others write there would be hidden.
_SYSTEM = ("bin", "boot", "dev", "etc", "lib", "lib32", "lib64", "proc", "root", "run", "sbin", "sys", "usr", "var")
_PATH = re.compile(r"/[A-Za-z0-9_./@:+-]+")
_OPTION = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*(=[A-Za-z0-9_./:@+-]+)?")
_SOURCES = {
    NFS: (re.compile(r"(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]):/[A-Za-z0-9_./@:+-]*"), "filer:/export/datasets"),
    LUSTRE: (re.compile(r"[A-Za-z0-9.:,@-]+:/[A-Za-z0-9_./-]+"), "10.0.0.5@o2ib:/scratch"),
}
_LOCAL = (re.compile(r"/dev/[A-Za-z0-9_./:-]+"), "/dev/disk/by-id/nvme-…")


@dataclass(frozen=True)
class Mount:
    """One of the option ``mounts``. ``free``: bytes that have to be left for the account of jobs; 0 asks for none."""

    path: str
    source: str = ""
    type: str = NFS
    options: tuple[str, ...] = ()
    state: str = MOUNTED
    free: int = 0

    @property
    def is_network(self) -> bool:
        return self.type in NETWORK

    @property
    def all_options(self) -> tuple[str, ...]:
        """As mount(8) gets them; systemd waits for the network where ``_netdev`` is among them."""
        chosen = self.options or DEFAULT_OPTIONS[self.type]
        return (*chosen, "_netdev") if self.is_network and "_netdev" not in chosen else chosen

    @property
    def server(self) -> tuple[str, int] | None:
        """Host and port that have to answer, of NFS."""
        found = _SOURCES[NFS][0].fullmatch(self.source) if self.type == NFS else None
        if not found:
            return None
        ports = [option[5:] for option in self.options if re.fullmatch(r"port=[0-9]{1,5}", option)]
        return found["host"].strip("[]"), int(ports[-1]) if ports else 2049


def parse(given: Sequence[Mapping[str, Any]], local_places: Sequence[str]) -> list[Mount]:
    """The mounts, parents before what is below them; raises GaudiError for the first that cannot be meant.

    ``local_places`` must not be on a network's file system: a recipe cache takes no locks there, and SQLite breaks.
    """
    mounts = [_one(one) for one in given]
    for mount in mounts:
        _refuse_path(mount, local_places)
        if mount.state == MOUNTED:
            _refuse_options(mount)
            _refuse_source(mount)
    paths = [mount.path for mount in mounts]
    for path in sorted({path for path in paths if paths.count(path) > 1}):
        raise GaudiError(f"mounts has {path} twice; leave one of the two.")
    return sorted(mounts, key=lambda mount: mount.path)


def _one(one: Mapping[str, Any]) -> Mount:
    return Mount(
        str(one["path"]),
        str(one.get("source") or ""),
        str(one.get("type") or NFS),
        tuple(map(str, one.get("options") or ())),
        str(one.get("state") or MOUNTED),
        bytes_of(one.get("free") or 0, f"free of {one['path']}"),
    )


def _refuse_path(mount: Mount, local_places: Sequence[str]) -> None:
    path = mount.path
    if not _PATH.fullmatch(path) or posixpath.normpath(path) != path:
        raise GaudiError(f"mounts has the path {path!r}; write a plain absolute one, such as /mnt/datasets.")
    if path.count("/") == 1 and path[1:] in _SYSTEM:
        raise GaudiError(f"mounts has {path}, which the system itself needs; mount it at a separate path.")
    for place in local_places if mount.is_network and mount.state == MOUNTED else ():
        if f"{place}/".startswith(f"{path}/"):
            raise GaudiError(
                f"{place} would come to lie on {mount.type} ({path}), where recipe caches and SQLite lose what they "
                "write at the same time; mount it elsewhere, or move that place to a local disk."
            )


def _refuse_source(mount: Mount) -> None:
    if mount.type not in TYPES:
        raise GaudiError(f"{mount.path} has the type {mount.type!r}; use one of {', '.join(TYPES)}.")
    pattern, example = _SOURCES.get(mount.type, _LOCAL)
    if not pattern.fullmatch(mount.source):
        raise GaudiError(f"{mount.path} has the source {mount.source!r}; for {mount.type} write one like {example}.")


def _refuse_options(mount: Mount) -> None:
    for option in mount.options:
        if not _OPTION.fullmatch(option):
            raise GaudiError(f"{mount.path} has the option {option!r}; write each as one word, such as nconnect=8.")
    # nfs(5): a write that was given up is an error that nobody may look at, and a file with a hole.
    if mount.type == NFS and {"soft", "softerr"} & set(mount.options) and "ro" not in mount.options:
        raise GaudiError(
            f"{mount.path} is mounted soft and not ro: a server that is slow once would leave holes in checkpoints; "
            "take soft out, or mount it ro."
        )
