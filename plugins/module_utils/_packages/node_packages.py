# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which package manager a node has."""

from __future__ import annotations

from pathlib import Path

from .._errors import GaudiError
from .._node.commands import Run
from .._node.os_release import DNF, package_manager
from .debian_packages import Apt
from .package_system import PackageSystem
from .rpm_packages import Dnf


def of_node(run: Run, root: str = "/") -> PackageSystem:
    """apt or dnf, by the distribution: Debian systems can have rpm and dnf too, and EPEL has dpkg."""
    if package_manager(str(Path(root, "etc"))) == DNF:
        return Dnf(run, root)
    if Path(root, "var/lib/dpkg/status").exists():
        return Apt(run, root)
    if any(Path(root, database).is_dir() for database in ("usr/lib/sysimage/rpm", "var/lib/rpm")):
        return Dnf(run, root)
    raise GaudiError("This node has neither apt nor dnf, and no other package manager is supported.")
