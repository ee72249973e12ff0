# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An archive that stands for Amazon's ``aws-efa-installer-VERSION.tar.gz``: simulated, but for Debian's libfabric."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

TOP = "aws-efa-installer"
_SCRIPT = Path(__file__).with_name("efa_installer.sh")
# Debian's packages whose files become Amazon's: the library, the programs that show it, and what is built against it.
_LIBFABRIC = ("libfabric1", "libfabric-bin", "libfabric-dev")
_PREFIX = "opt/amazon/efa"


def build(version: str, directory: Path) -> Path:
    """The archive of ``version`` in ``directory``; the host's own apt brings Debian's packages."""
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch, TOP)
        packages = top / "DEBS" / "simulated"
        packages.mkdir(parents=True)
        shutil.copy2(_SCRIPT, top)
        Path(top, "env.sh").write_text(f"EFA_INSTALLER_VERSION={version}\n", encoding="utf-8")
        _libfabric(Path(scratch, "libfabric"), packages)
        _package(Path(scratch, "profile"), packages, "efa-profile", version, {
            "etc/ld.so.conf.d/000_efa.conf": f"/{_PREFIX}/lib\n",
            "etc/profile.d/efa.sh": f"PATH=/{_PREFIX}/bin:$PATH\n",
        })  # fmt: skip
        # What the real one sets is limits of locked memory, which a container may not have.
        _package(Path(scratch, "config"), packages, "efa-config", version, {
            "usr/share/doc/efa-config/simulated": "Simulated: no limit is set.\n",
        })  # fmt: skip
        archive = directory / f"{TOP}-{version}.tar.gz"
        with tarfile.open(archive, "w:gz") as packed:
            packed.add(top, TOP)
    return archive


def _libfabric(scratch: Path, packages: Path) -> None:
    """Debian's library and programs below Amazon's prefix, with Debian's dependencies."""
    unpacked = scratch / "unpacked"
    unpacked.mkdir(parents=True)
    _run("apt-get", "-qq", "download", *_LIBFABRIC, cwd=scratch)
    for file in sorted(scratch.glob("*.deb")):
        _run("dpkg-deb", "--extract", str(file), str(unpacked))
    library = next(scratch.glob("libfabric1_*.deb"))
    version, depends = (_run("dpkg-deb", "--field", str(library), name).strip() for name in ("Version", "Depends"))
    root = scratch / "root"
    (root / _PREFIX).mkdir(parents=True)
    shutil.copytree(next(unpacked.glob("usr/lib/*-linux-gnu")), root / _PREFIX / "lib", symlinks=True)
    for name in ("bin", "include"):
        shutil.copytree(unpacked / "usr" / name, root / _PREFIX / name)
    _package(root, packages, "libfabric1-aws", f"{version}+simulated", {}, f"Depends: {depends}\n")


def _package(root: Path, packages: Path, name: str, version: str, files: dict[str, str], more: str = "") -> None:
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    control = root / "DEBIAN"
    control.mkdir()
    (control / "control").write_text(
        f"Package: {name}\nVersion: {version}\nArchitecture: amd64\nMaintainer: gaudi3.scale sandbox\n{more}"
        "Description: stands for Amazon's package of this name (simulated)\n",
        encoding="utf-8",
    )
    for hook in ("postinst", "postrm"):
        (control / hook).write_text("#!/bin/sh\nldconfig\n", encoding="utf-8")
        (control / hook).chmod(0o755)
    _run("dpkg-deb", "--build", "--root-owner-group", str(root), str(packages / f"{name}_{version}_amd64.deb"))


def _run(*command: str, cwd: Path | None = None) -> str:
    return subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True).stdout
