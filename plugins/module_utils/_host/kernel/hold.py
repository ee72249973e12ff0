# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which packages to hold so that no unattended update brings another kernel. Pure.

A held kernel gets no security fixes either: an operator takes the hold off, updates, and runs the driver layer again.
"""

from __future__ import annotations

import re
from typing import Iterable

# On the Debian family a new kernel is a package of a new name that a meta package starts to depend on
# (linux-image-amd64, linux-generic-hwe-24.04): who holds the meta packages holds the kernel.
_DEBIAN = re.compile(
    r"linux-(?:(?:image|headers|modules-extra)(?:-unsigned)?-)?(?:\d+\.\d+-)?"
    r"(?:generic|virtual|lowlatency|server|kvm|aws|azure|gcp|gke|gkeop|oracle|ibm|oem|nvidia|intel|realtime"
    r"|(?:cloud-|rt-)?(?:amd64|arm64))"
    r"(?:-(?:hwe|lts|edge|64k|complete|tcpx?|fde|iotg|open|wip|\d+(?:\.\d+)?[a-z]?|\d\d\.\d\d))*"
)
# On the RHEL family a new kernel is a new version of the same package. kernel-headers is not among them: it is the C
# library's and moves nothing.
_RPM = re.compile(
    r"kernel(?:-rt|-64k|-uek|-default|-azure)?(?:-debug)?"
    r"(?:-core|-modules|-modules-core|-modules-extra|-modules-internal|-devel|-devel-matched)?"
)
_DEBIAN_IDS = ("debian", "ubuntu")


def kernel_globs(os_id: str) -> list[str]:
    """What to ask the package database for, before :func:`kernel_packages` picks from the answer."""
    return ["linux-*"] if _is_debian(os_id) else ["kernel*"]


def kernel_packages(installed: Iterable[str], os_id: str) -> list[str]:
    """Those of the ``installed`` package names that bring new kernels, sorted.

    ``os_id`` is the ID of os-release, alone or with the version (``ubuntu-24.04``).
    """
    pattern = _DEBIAN if _is_debian(os_id) else _RPM
    return sorted({name for name in installed if pattern.fullmatch(name.partition(":")[0])})


def _is_debian(os_id: str) -> bool:
    return os_id.partition("-")[0] in _DEBIAN_IDS
