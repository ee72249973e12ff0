# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node in a directory, before a script that stands for Amazon's installer."""

from __future__ import annotations

import hashlib
import io
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.installation import Place, converge
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.efa.plan import EfaOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

# It leaves Amazon's record below the directory that stands for the node, and tells what it was called with.
SCRIPT = """\
#!/bin/sh
. ./env.sh
echo "called $* in $(pwd) as $(umask)" >> {root}/calls
{more}
mkdir -p {root}/opt/amazon
cd {root}/opt/amazon
printf '# EFA installer version: %s\\n# Packages installed:\\n' "$EFA_INSTALLER_VERSION" > efa_installed_packages
echo 'EFA installation complete.'
"""


def member(name: str, content: str = "", mode: int = 0o644, **more: Any) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.mode, info.size = mode, len(content)
    for key, value in more.items():
        setattr(info, key, value)
    return info, content.encode()


def archive(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for info, content in members:
            packed.addfile(info, io.BytesIO(content))
    return path


class Node:
    """A node below ``root``, with first-generation cards unless told otherwise, and the site's archive."""

    def __init__(self, root: Path, pci_id: str = "0x1000") -> None:
        self.root = root / "node"
        self.place = Place(str(root / "kernel"), str(self.root))
        card = self.kernel("sys/bus/pci/devices/0000:10:1d.0/vendor", "0x1da3").parent
        (card / "device").write_text(pci_id, encoding="utf-8")
        (card / "class").write_text("0x120000", encoding="utf-8")
        self.kernel("sys/class/dmi/id/product_name", "dl1.24xlarge")
        self.kernel("proc/modules", "")
        self.kernel("proc/sys/kernel/random/boot_id", "first")
        (self.root / "etc").mkdir(parents=True)
        (self.root / "etc/os-release").write_text("ID=debian\n", encoding="utf-8")
        (self.root / "var/lib/dpkg").mkdir(parents=True)
        (self.root / "var/lib/dpkg/status").touch()
        self.timeouts: list[float | None] = []
        self.site = root
        self.make()

    def kernel(self, path: str, text: str) -> Path:
        file = Path(self.place.kernel_root, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n", encoding="utf-8")
        return file

    def make(self, version: str = "1.34.0", more: str = "", named: str | None = None) -> None:
        """The site's archive of ``version``, whose installer also does ``more``; its env.sh may name another one."""
        script = SCRIPT.format(root=self.root, more=more)
        self.archive = archive(
            self.site / f"aws-efa-installer-{version}.tar.gz",
            member("aws-efa-installer", mode=0o755, type=tarfile.DIRTYPE),
            member("aws-efa-installer/efa_installer.sh", script, 0o755),
            member("aws-efa-installer/env.sh", f"export EFA_INSTALLER_VERSION={named or version}\n"),
        )
        digest = hashlib.sha256(self.archive.read_bytes()).hexdigest()
        self.given = {
            "version": version,
            "archive": str(self.archive),
            "checksum": f"sha256:{digest}",
            "archive_file": str(self.archive),
        }

    def run(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        if argv[0] == "sh":
            self.timeouts.append(timeout)
            done = subprocess.run(argv, check=False, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"})
            return CommandResult(done.returncode, done.stdout, done.stderr)
        return CommandResult(1, "", "")

    def converge(self, check_mode: bool = False, **given: Any) -> dict[str, Any]:
        wishes = {"release": "1.21.3", "environment_file": f"{self.root}/environment", **self.given, **given}
        return converge(EfaOptions(**wishes), self.run, check_mode, self.place)

    @property
    def calls(self) -> list[str]:
        path = self.root / "calls"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    def state(self) -> list[str]:
        return sorted(path.name for path in self.place.state.iterdir())
