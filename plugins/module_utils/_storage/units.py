# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A mount as a unit of systemd, and what is there instead; pure but for reading."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .._node.rendered_files import WantedFile, read_text
from .._node.systemd_units import UNIT_DIRECTORY
from .mounts import ABSENT, Mount

HEADING = "# Written by gaudi3.scale; changes made here are lost. Options: roles/gaudi_storage."
# A server that does not answer must not hold up a boot for longer.
_TIMEOUT_S = 60
_ESCAPE = re.compile(r"[^A-Za-z0-9_.:/]")


@dataclass(frozen=True)
class Mounted:
    """A line of the kernel's mount table."""

    path: str
    source: str
    type: str


def unit_name(path: str) -> str:
    """As ``systemd-escape --path --suffix=mount`` (systemd.unit(5))."""
    inside = path.strip("/")
    escaped = _ESCAPE.sub(lambda one: f"\\x{ord(one[0]):02x}", inside).replace("/", "-")
    return (f"\\x2e{escaped[1:]}" if escaped.startswith(".") else escaped) + ".mount"


def wanted_unit(mount: Mount, etc: str) -> WantedFile:
    path = str(Path(etc, UNIT_DIRECTORY, unit_name(mount.path)))
    return WantedFile(path, None if mount.state == ABSENT else _text(mount))


def _text(mount: Mount) -> str:
    target = "remote-fs.target" if mount.is_network else "local-fs.target"
    return f"""{HEADING}
[Unit]
Description={mount.path} for training

[Mount]
What={mount.source}
Where={mount.path}
Type={mount.type}
Options={",".join(mount.all_options)}
TimeoutSec={_TIMEOUT_S}

[Install]
WantedBy={target}
"""


def mount_table(path: str = "/proc/self/mountinfo") -> dict[str, Mounted]:
    """Place -> what is mounted there last (proc(5), mountinfo)."""
    found = {}
    for line in (read_text(path) or "").splitlines():
        before, _dash, after = line.partition(" - ")
        fields, tail = before.split(" "), after.split(" ")
        if len(fields) > 4 and len(tail) > 1:
            place = _unescaped(fields[4])
            found[place] = Mounted(place, _unescaped(tail[1]), tail[0])
    return found


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), text)


def fstab_line(path: str, etc: str) -> int | None:
    """The number of the line of /etc/fstab that mounts something at ``path``."""
    for number, line in enumerate((read_text(str(Path(etc, "fstab"))) or "").splitlines(), start=1):
        fields = line.partition("#")[0].split()
        if len(fields) > 1 and _unescaped(fields[1]).rstrip("/") == path:
            return number
    return None


def below(path: str, table: dict[str, Mounted]) -> Mounted | None:
    """The file system that ``path`` is on."""
    places = [place for place in table if f"{path}/".startswith(f"{place.rstrip('/')}/")]
    return table[max(places, key=len)] if places else None


@dataclass(frozen=True)
class Node:
    """Where things lie; tests have them elsewhere."""

    etc: str = "/etc"
    table: str = "/proc/self/mountinfo"

    def mounted(self) -> dict[str, Mounted]:
        return mount_table(self.table)
