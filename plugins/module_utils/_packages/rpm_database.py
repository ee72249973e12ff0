# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""rpm's database as values, under the names and versions that the rest of the collection knows packages by.

Names are the vendor's Debian names on every system; :data:`RPM_NAMES` says where RHEL's differ. A version is told and
asked for without the distribution's suffix (``1.24.1-482`` for ``1.24.1-482.el9``).
"""

from __future__ import annotations

import fnmatch
import re
from typing import NamedTuple, Sequence

from .package_system import Package
from .version_locks import Lock

# Intel's page Installers_Appendix: the driver's package is the one whose name differs.
RPM_NAMES = {"habanalabs-dkms": "habanalabs"}
DEBIAN_NAMES = {rpm: debian for debian, rpm in RPM_NAMES.items()}
VENDOR = "habanalabs"

# For ``rpm --queryformat``; :func:`parse_installed` reads it.
FORMAT = "%{NAME}\\t%{EPOCHNUM}\\t%{VERSION}-%{RELEASE}\\t%{ARCH}\\t%{INSTALLTID}\\n"
_DIST_SUFFIX = re.compile(r"\.(?:el|tl|oc)\d+(?:_\d+)?$")


class InstalledRpm(NamedTuple):
    """One line of rpm's database; ``transaction`` grows with time."""

    name: str
    epoch: str
    version: str
    architecture: str
    transaction: int

    @property
    def label(self) -> str:
        """What rpm calls exactly this package."""
        return f"{self.name}-{self.version}.{self.architecture}"


def rpm_name(name: str) -> str:
    """The RHEL name of a package of the vendor; any other name, and a glob, is the same everywhere."""
    return RPM_NAMES.get(name, name)


def plain_version(version: str) -> str:
    """``1.24.1-482`` of ``1.24.1-482.el9``."""
    return _DIST_SUFFIX.sub("", version)


def parse_installed(text: str) -> list[InstalledRpm]:
    """``rpm -q`` in the format of this file; its sentences on packages that are not installed are passed over."""
    rows = [line.split("\t") for line in text.splitlines()]
    return [InstalledRpm(row[0], row[1], row[2], row[3], int(row[4])) for row in rows if len(row) == 5]


def newest_first(packages: Sequence[InstalledRpm]) -> dict[str, list[InstalledRpm]]:
    """By name, the one of the last transaction first: rpm installs the new version before it erases the old one."""
    found: dict[str, list[InstalledRpm]] = {}
    for package in sorted(packages, key=lambda one: one.transaction, reverse=True):
        found.setdefault(package.name, []).append(package)
    return found


def surplus(packages: Sequence[InstalledRpm]) -> list[InstalledRpm]:
    """Older versions of the vendor's packages, which an interrupted transaction did not come to erase."""
    return [old for name, every in newest_first(packages).items() if name.startswith(VENDOR) for old in every[1:]]


def as_asked(names: Sequence[str], packages: Sequence[InstalledRpm], locks: Sequence[Lock]) -> dict[str, Package]:
    """The installed packages under the names that the rest of the collection knows them by.

    A name may be a glob, or a full label such as ``kernel-devel-5.14.0-570.el9_6.x86_64``, and is then its own key.
    """
    found: dict[str, Package] = {}
    for name, every in newest_first(packages).items():
        known = DEBIAN_NAMES.get(name, name)
        half_way = len(every) > 1 and name.startswith(VENDOR)
        held = any(lock.covers(name, every[0].epoch, every[0].version) for lock in locks)
        for wanted in names:
            match = next((one for one in every if wanted in (one.label, f"{one.name}-{one.version}")), None)
            if match or fnmatch.fnmatch(known, wanted):
                version = plain_version((match or every[0]).version)
                key = wanted if match else known
                found[key] = Package(key, version, held, "half-installed" if half_way else "installed")
    return found


def label_name(label: str) -> str:
    """The name in ``name-version-release.architecture``."""
    return label.rsplit("-", 2)[0]
