# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A Debian package as a value, and dpkg-deb to write it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ..commands import run


@dataclass(frozen=True)
class PackagedFile:
    """A file inside a package."""

    content: str | bytes
    mode: int = 0o644

    @property
    def data(self) -> bytes:
        """What is written."""
        return self.content.encode() if isinstance(self.content, str) else self.content


@dataclass(frozen=True)
class DebPackage:
    """A binary package. ``files`` and ``scripts`` (postinst, prerm) map a path or name to what it holds."""

    name: str
    version: str
    architecture: str
    description: str
    depends: tuple[str, ...] = ()
    files: Mapping[str, PackagedFile] = field(default_factory=dict)
    scripts: Mapping[str, str] = field(default_factory=dict)
    configuration_files: tuple[str, ...] = ()

    @property
    def file_name(self) -> str:
        """The name that apt's archives give the package's file."""
        return f"{self.name}_{self.version}_{self.architecture}.deb"

    def control(self) -> str:
        """The text of the control file."""
        fields = {
            "Package": self.name,
            "Version": self.version,
            "Architecture": self.architecture,
            "Maintainer": "The gaudi3.scale authors <gaudi3-scale@localhost>",
            "Section": "misc",
            "Priority": "optional",
            "Depends": ", ".join(self.depends),
            "Description": f"{self.description} (simulated)\n Made by the sandbox of gaudi3.scale.",
        }
        return "".join(f"{name}: {value}\n" for name, value in fields.items() if value)


def write(package: DebPackage, directory: Path) -> Path:
    """Write the package's file into ``directory``; returns its path."""
    target = directory / package.file_name
    with tempfile.TemporaryDirectory(prefix="deb-") as scratch:
        root = Path(scratch)
        root.chmod(0o755)
        _put(root / "DEBIAN" / "control", PackagedFile(package.control()))
        if package.configuration_files:
            _put(root / "DEBIAN" / "conffiles", PackagedFile("".join(f"{p}\n" for p in package.configuration_files)))
        for name, text in package.scripts.items():
            _put(root / "DEBIAN" / name, PackagedFile(text, 0o755))
        for path, packaged in package.files.items():
            _put(root / path.lstrip("/"), packaged)
        run(["dpkg-deb", "--root-owner-group", "-Zgzip", "--build", root, target])
    return target


def _put(path: Path, packaged: PackagedFile) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packaged.data)
    path.chmod(packaged.mode)
