# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The node's package manager as a value: what is asked of apt and of dnf alike."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, Protocol, Sequence


@dataclass(frozen=True)
class Package:
    """One package in the node's database.

    ``version`` is the vendor's ``1.24.1-482`` on every system (RPM's ``.el9`` is taken off); ``status`` is dpkg's word:
    ``installed``, ``half-configured``, ``not-installed`` and so on.
    """

    name: str
    version: str
    held: bool
    status: str

    @property
    def installed(self) -> bool:
        """Unpacked and configured. A package whose maintainer script failed is neither this nor absent."""
        return self.status == "installed"


class PackageSystem(Protocol):
    """apt or dnf of one node. Every method that changes something raises :class:`GaudiError` with the tool's reason."""

    @property
    def name(self) -> str:
        """``apt`` or ``dnf``."""

    def query(self, names: Sequence[str]) -> dict[str, Package]:
        """Those of ``names`` (globs allowed) that the database has ever heard of."""

    def broken(self) -> list[str]:
        """Packages that an interrupted transaction left half way."""

    def interrupted(self) -> bool:
        """Whether the package manager refuses all work until an interrupted transaction is finished."""

    def repair(self, names: Sequence[str]) -> None:
        """Finish what was interrupted for these packages, as far as that is possible before they are replaced."""

    def fetch(self, pins: Mapping[str, str], directory: str) -> list[str]:
        """Download the files of these packages (name to version) without their dependencies; returns their paths.

        The repository's signature vouches for each file; a file that is there already is not fetched again.
        """

    def refresh(self, lock_timeout: float) -> None:
        """Read the lists of all repositories anew, waiting so many seconds for another package manager."""

    def prepare(self, requests: Sequence[str], lock_timeout: float) -> None:
        """Make sure that ``install`` of the same can be done, and fetch what else it needs; installs nothing."""

    def install(self, requests: Sequence[str], lock_timeout: float) -> None:
        """One transaction of package names and of paths of package files; older versions and held ones included."""

    def hold(self, names: Sequence[str]) -> None:
        """Keep a system upgrade from changing these packages."""

    def unhold(self, names: Sequence[str]) -> None:
        """Let a system upgrade change these packages again."""


def keep_file(file: str, directory: str) -> None:
    """Into ``directory``, with its content on the disk first: a power cut may not leave an empty file of this name."""
    with Path(file).open("rb") as stream:
        os.fsync(stream.fileno())
    Path(file).replace(Path(directory, Path(file).name))
