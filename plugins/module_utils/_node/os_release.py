# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The distribution of a node as os-release(5) has it, and the package manager that it lives on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

from .rendered_files import read_text

APT = "apt"
DNF = "dnf"
UBUNTU = "ubuntu"
# By what names and places may differ between the systems that are known.
SYSTEMS = (UBUNTU, APT, DNF)
Named = TypeVar("Named")
_RPM_SYSTEMS = {"rhel", "fedora", "centos", "rocky", "almalinux", "ol"}


def os_release(etc: str = "/etc") -> dict[str, str]:
    """The fields of ``<etc>/os-release``; empty where there is none."""
    pairs = (line.partition("=") for line in (read_text(str(Path(etc, "os-release"))) or "").splitlines())
    return {name.strip(): _unquoted(value) for name, separator, value in pairs if separator}


def _unquoted(value: str) -> str:
    try:
        return " ".join(shlex.split(value))
    except ValueError:
        # A quotation without an end, which os-release(5) does not know.
        return value.strip().strip("\"'")


def package_manager(etc: str = "/etc") -> str:
    """``dnf`` for RHEL and its relatives, ``apt`` for everything else.

    Not by what is installed: EPEL has dpkg, and Debian has rpm and dnf.
    """
    release = os_release(etc)
    family = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    return DNF if family & _RPM_SYSTEMS else APT


def of_system(choices: Mapping[str, Named | None], etc: str = "/etc") -> Named | None:
    """That of ``choices`` which is for this node: by its distribution first, then by its package manager."""
    named = choices.get(os_release(etc).get("ID", ""))
    return choices.get(package_manager(etc)) if named is None else named
