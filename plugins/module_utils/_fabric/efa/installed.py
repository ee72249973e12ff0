# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What Amazon's EFA installer left on a node: its version, its packages, and whether all of them are still there.

The installer writes ``/opt/amazon/efa_installed_packages`` at its end: comment lines with its version, and one line
with names of package files (``libfabric1-aws_1.18.0amzn1.0_amd64``, ``libfabric-aws-1.18.0amzn1.0-1.amzn2.x86_64``).
It names packages that it left out since newer ones were there, so versions of packages are not compared.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from ..._node.commands import Run
from ..._node.os_release import DNF, package_manager
from ..._node.rendered_files import read_text
from ..._packages.node_packages import of_node
from ..._packages.rpm_database import label_name

RECORD = "opt/amazon/efa_installed_packages"
_VERSION = re.compile(r"^#?[ \t]*EFA installer version:[ \t]*(\d+(?:\.\d+)+)[ \t]*$", re.MULTILINE)
# Of the names that dpkg and rpm know; what is none is not asked for.
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]*")


class Record(NamedTuple):
    """The installer's own record; ``packages`` are names of package files without their ending."""

    version: str
    packages: tuple[str, ...]


class Installed(NamedTuple):
    """``version`` is None where the installer never came to its end; ``missing`` packages were removed since."""

    version: str | None
    missing: tuple[str, ...] = ()


def parse_record(text: str) -> Record | None:
    """The installer's record; None for what is none."""
    match = _VERSION.search(text)
    if match is None:
        return None
    lines = [line for line in text.splitlines() if not line.startswith("#") and not _VERSION.match(line)]
    return Record(match[1], tuple(word for line in lines for word in line.split()))


def package_names(files: tuple[str, ...], manager: str) -> list[str]:
    """Names in the package manager's database, each once."""
    names = [label_name(file) if manager == DNF else file.partition("_")[0] for file in files]
    return [name for name in dict.fromkeys(names) if _NAME.fullmatch(name)]


def read_installed(run: Run, root: str = "/") -> Installed:
    """Read the record below ``root``, and ask the package manager for what it names."""
    text = read_text(str(Path(root, RECORD)))
    record = parse_record(text) if text else None
    if record is None:
        return Installed(None)
    names = package_names(record.packages, package_manager(str(Path(root, "etc"))))
    known = of_node(run, root).query(names) if names else {}
    return Installed(record.version, tuple(name for name in names if name not in known or not known[name].installed))
