# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What dpkg knows about a few packages, and the marks that keep apt from changing them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Sequence

from .commands import Run
from .errors import GaudiError

_FIELDS = "${Package}\\t${Version}\\t${db:Status-Want}\\t${db:Status-Status}\\n"


@dataclass(frozen=True)
class DebianPackage:
    """One package's line in dpkg's database; ``status`` is dpkg's word (``installed``, ``half-configured``, ...)."""

    name: str
    version: str
    held: bool
    status: str

    @property
    def installed(self) -> bool:
        """Unpacked and configured. A package whose maintainer script failed is neither this nor absent."""
        return self.status == "installed"


def parse_packages(text: str) -> dict[str, DebianPackage]:
    """``dpkg-query -W`` in the format of this file; of two architectures the installed one counts."""
    packages: dict[str, DebianPackage] = {}
    for line in text.splitlines():
        name, version, want, status = line.split("\t")
        package = DebianPackage(name, version, want == "hold", status)
        if name not in packages or package.installed:
            packages[name] = package
    return packages


def query_packages(names: Sequence[str], run: Run) -> dict[str, DebianPackage]:
    """The packages of ``names`` that dpkg has ever heard of; empty on a node without dpkg."""
    # dpkg-query ends with 1 when one of the names is unknown; the others are printed all the same.
    return parse_packages(run(["dpkg-query", "-W", "-f", _FIELDS, *names]).stdout) if names else {}


def mark(word: str, names: Iterable[str], run: Run) -> None:
    """``apt-mark hold`` or ``apt-mark unhold`` for ``names``."""
    done = run(["apt-mark", word, *names])
    if done.rc != 0:
        raise GaudiError(f"apt-mark {word} {' '.join(names)} failed: {(done.stderr or done.stdout).strip()}.")
