# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The list of dnf's versionlock plugin. It is read here, at the cost of a file, and changed by dnf alone."""

from __future__ import annotations

import configparser
import re
from pathlib import Path
from typing import NamedTuple, Protocol

from .._node.rendered_files import read_text

CONFIGURATION = "etc/dnf/plugins/versionlock.conf"
LIST = "etc/dnf/plugins/versionlock.list"
# As the plugin writes it: no architecture.
_ENTRY = re.compile(r"(?P<name>.+)-(?:(?P<epoch>\d+):)?(?P<version>[^-:]+-[^-]+?)\.\*")


class Installed(Protocol):
    """What a lock is made of; the version has its release in it."""

    @property
    def name(self) -> str:
        """Of the package."""

    @property
    def epoch(self) -> str:
        """``0`` or empty where there is none."""

    @property
    def version(self) -> str:
        """With the release."""


class Lock(NamedTuple):
    """One entry of the list that locks exactly one version; ``entry`` is its text."""

    entry: str
    name: str
    epoch: str
    version: str

    def covers(self, name: str, epoch: str, version: str) -> bool:
        """Whether the entry keeps this package where it is."""
        return (self.name, self.epoch, self.version) == (name, epoch, version)


def lock_entry(package: Installed) -> str:
    """The entry for one package, the same text as ``dnf versionlock add NAME`` writes."""
    return f"{package.name}-{package.epoch}:{package.version}.*"


def parse_locks(text: str) -> list[Lock]:
    """Locks of one version each. Excludes (``!``) and globs over names are the operator's own and are left alone."""
    found = [(line, _ENTRY.fullmatch(line)) for line in map(str.strip, text.splitlines()) if line[:1] not in ("#", "!")]
    return [Lock(line, m["name"], m["epoch"] or "0", m["version"]) for line, m in found if m and "*" not in m["name"]]


def read_locks(root: str = "/") -> list[Lock]:
    """The list of the node; empty where the plugin is not installed."""
    configuration = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        configuration.read_string(read_text(str(Path(root, CONFIGURATION))) or "")
    except configparser.Error:
        return []
    place = configuration.get("main", "locklist", fallback=f"/{LIST}")
    return parse_locks(read_text(str(Path(root, place.lstrip("/")))) or "")
