# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The operating system under the cards: distribution, kernel, Python, init system, disk space."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .accel_sysfs import attribute
from .iommu import PASSTHROUGH, is_in_the_way, translates


@dataclass(frozen=True)
class Kernel:
    """The running kernel. ``hugepages`` counts pages of ``hugepage_kib`` out of ``memory_mib``; None is not told.

    ``iommu_passthrough`` is what the command line has, ``iommu_translates`` what the kernel shows of the cards.
    """

    release: str | None
    command_line: str | None
    iommu_passthrough: bool
    hugepages: int | None
    hugepage_kib: int | None
    memory_mib: int | None = None
    iommu_translates: bool | None = None

    @property
    def iommu_in_the_way(self) -> bool:
        """Whether the cards should wait for a boot with ``iommu=pt``."""
        return is_in_the_way(self.command_line, self.iommu_translates)


@dataclass(frozen=True)
class System:
    """``os`` is ``<ID>-<VERSION_ID>`` of os-release, ``python`` the version of the interpreter that asks."""

    os: str
    architecture: str
    python: str
    systemd: bool


@dataclass(frozen=True)
class Disk:
    """Space for ``path``: ``mount`` is its nearest directory that exists, ``device`` tells file systems apart."""

    path: str
    mount: str
    device: int
    free_mib: int
    need_mib: int


def read_kernel(kernel_root: str = "/") -> Kernel:
    """The kernel as its proc files under ``kernel_root`` describe it."""
    proc = Path(kernel_root, "proc")
    command_line = attribute(proc, "cmdline")
    meminfo = dict(_pairs(attribute(proc, "meminfo") or "", ":"))
    total = _integer(meminfo.get("MemTotal"))
    return Kernel(
        release=attribute(proc, "sys/kernel/osrelease"),
        command_line=command_line,
        iommu_passthrough=PASSTHROUGH in (command_line or "").split(),
        hugepages=_integer(attribute(proc, "sys/vm/nr_hugepages") or meminfo.get("HugePages_Total")),
        hugepage_kib=_integer(meminfo.get("Hugepagesize")),
        memory_mib=None if total is None else total // 1024,
        iommu_translates=translates(kernel_root),
    )


def read_system(root: str = "/") -> System:
    """The distribution of ``<root>/etc/os-release`` and the machine that this process runs on."""
    release = dict(_pairs(attribute(Path(root), "etc/os-release") or "", "="))
    name, version = (release.get(key, "unknown").strip("\"'") for key in ("ID", "VERSION_ID"))
    return System(
        os=f"{name.lower()}-{version}",
        architecture=os.uname().machine,
        python=".".join(map(str, sys.version_info[:3])),
        # The test of sd_booted(3).
        systemd=Path(root, "run/systemd/system").is_dir(),
    )


def read_disks(wanted: Iterable[Mapping[str, object]]) -> tuple[Disk, ...]:
    """Space for each ``{path, need_mib, unless_exists}``; where ``unless_exists`` is there already, none is needed."""
    return tuple(
        read_disk(str(entry["path"]), int(str(entry["need_mib"])))
        for entry in wanted
        if not (entry.get("unless_exists") and Path(str(entry["unless_exists"])).exists())
    )


def read_disk(path: str, need_mib: int) -> Disk:
    """Free space where ``path`` would be made: the file system of its nearest parent that exists."""
    whole = Path(path).absolute()
    mount = next(place for place in (whole, *whole.parents) if place.is_dir())
    state = os.statvfs(mount)
    return Disk(path, str(mount), mount.stat().st_dev, state.f_bavail * state.f_frsize // 2**20, need_mib)


def _pairs(text: str, separator: str) -> Iterable[tuple[str, str]]:
    for line in text.splitlines():
        key, found, value = line.partition(separator)
        if found:
            yield key.strip(), value.strip()


def _integer(text: str | None) -> int | None:
    digits = (text or "").split(" ")[0]
    return int(digits) if digits.isdecimal() else None
