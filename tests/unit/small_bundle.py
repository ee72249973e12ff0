# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A bundle as ``package_bundle`` builds it, and a node with an apt and a pip of its own that meets it."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import build as package_bundle
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle import node_repository
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.bundle_site import Trust
from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.layout import MANIFEST, SIGNATURE
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._packages.repository_plan import RepositoryOptions
from ansible_collections.gaudi3.scale.tests.unit.small_repository import SmallRepository

PYTORCH = "gaudi-pt-modules/1.24.1/482/pytorch/ubuntu2204/pytorch_modules-v2.11.0_1.24.1_482.tgz"
WHEEL = "thing-1.0-py3-none-any.whl"


def wheel(path: Path) -> None:
    """The smallest wheel that pip installs."""
    name, version = path.name.split("-")[:2]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{name}/__init__.py", "")
        about = f"{name}-{version}.dist-info"
        archive.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        archive.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{about}/RECORD", "")


class SmallBundle:
    """``www`` is what is served; its owner's secret key is at hand, and a stranger's."""

    def __init__(self, base: Path) -> None:
        repository = SmallRepository(base)
        (repository.www / PYTORCH).parent.mkdir(parents=True)
        (repository.www / PYTORCH).write_bytes(gzip.compress(b"PyTorch"))
        wheel(base / WHEEL)
        files = [str(base / WHEEL)]
        for part in ("keys", "packages", "distribution", "pytorch", "files", "manifest"):
            package_bundle.converge(repository.options(part, files=files), run_process, False)
        self.www = repository.bundle
        self.homes = {"owner": base / "owner-home", "stranger": base / "stranger-home"}
        for home in self.homes.values():
            home.mkdir(mode=0o700)
        self.gpg("owner", "--import", str(base / "site-secret.asc"))
        self.gpg("stranger", "--passphrase", "", "--quick-gen-key", "stranger@example.com", "ed25519", "sign", "0")

    def gpg(self, who: str, *arguments: str) -> bytes:
        command = ["gpg", "--homedir", str(self.homes[who]), "--batch", "--yes", "--pinentry-mode", "loopback"]
        return subprocess.run([*command, *arguments], check=True, capture_output=True).stdout

    def close(self) -> None:
        for home in self.homes.values():
            subprocess.run(["gpgconf", "--homedir", str(home), "--kill", "all"], check=False, capture_output=True)

    @property
    def manifest(self) -> dict[str, Any]:
        read: dict[str, Any] = json.loads((self.www / MANIFEST).read_text())
        return read

    @property
    def fingerprint(self) -> str:
        shown = self.gpg("owner", "--with-colons", "--fingerprint").decode()
        return next(line.split(":")[9] for line in shown.splitlines() if line.startswith("fpr"))

    def copy(self, target: Path) -> Path:
        """What is served, for a test that changes it."""
        shutil.copytree(self.www, target)
        return target

    def sign(self, www: Path, content: bytes, who: str = "owner") -> None:
        """Serve this manifest below ``www``, with the signature of its owner or of a stranger."""
        (www / MANIFEST).write_bytes(content)
        self.gpg(who, "--armor", "--detach-sign", "--output", str(www / SIGNATURE), str(www / MANIFEST))

    def serve(self, www: Path, **changes: object) -> None:
        """Serve the owner's manifest with these fields."""
        self.sign(www, json.dumps({**self.manifest, **changes}).encode())

    def list_anew(self, www: Path, path: str) -> None:
        """Have the owner say that the file is as it is now."""
        content = (www / path).read_bytes()
        files = [
            {**row, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()} if row["path"] == path else row
            for row in self.manifest["files"]
        ]
        self.serve(www, files=files)


class SmallNode:
    """A node with an /etc, an apt and a state of its own; ``commands`` is every program that was started on it."""

    def __init__(self, base: Path, www: Path) -> None:
        self.base, self.www, self.etc = base, www, base / "etc"
        self.record, self.seen = str(base / "state/repository.json"), str(base / "state/bundles_seen.json")
        self.commands: list[list[str]] = []
        for name in ("etc/apt/apt.conf.d", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
            (base / name).mkdir(parents=True)
        (base / "var/lib/dpkg").mkdir(parents=True)
        (base / "var/lib/dpkg/status").touch()
        (base / "etc/os-release").write_text("ID=ubuntu\nVERSION_ID=22.04\nVERSION_CODENAME=jammy\n")
        (base / "apt.conf").write_text(
            f'Dir "{base}";\nDir::State::status "{base}/var/lib/dpkg/status";\nAPT::Sandbox::User "";\n'
            'Dir::Bin::Methods "/usr/lib/apt/methods";\nAPT::Update::Post-Invoke-Success "";\n'
            'APT::Architecture "amd64";\nAcquire::Languages "none";\n'
        )

    def run(self, argv: Sequence[str], **more: Any) -> CommandResult:
        self.commands.append(list(argv))
        if argv[0] == "dpkg-query":
            argv = ["dpkg-query", f"--admindir={self.base}/var/lib/dpkg", *argv[1:]]
        return run_process(argv, **{**more, "env": {"APT_CONFIG": str(self.base / "apt.conf")}})

    def converge(self, fingerprint: str, check_mode: bool = False, **more: Any) -> dict[str, Any]:
        self.commands.clear()
        of_trust = {name: more.pop(name) for name in ("allow_older", "allow_expired") if name in more}
        given = {"packages_url": f"file://{self.www}", "release": "1.24.1", "packages": ["habanalabs-dkms"]}
        options = RepositoryOptions(**{**given, "kernels": ["6.8"], "lock_timeout": 0.0, **more})
        node = node_repository.Node(str(self.etc), self.record, self.seen)
        return node_repository.converge(options, Trust(fingerprint, **of_trust), self.run, check_mode, node)

    def remove(self, check_mode: bool = False) -> dict[str, Any]:
        """The node without the package repository."""
        return node_repository.remove(check_mode, node_repository.Node(str(self.etc), self.record, self.seen))

    def take(self, package: str) -> CommandResult:
        """Have apt fetch a package, as it does before it installs it."""
        command = ["apt-get", "-q", "-o", f"Dir::Cache={self.base}/var/cache/apt", "download", package]
        script = f'cd "{self.base}" && exec "$@"'
        return self.run(["sh", "-c", script, "sh", *command])

    @property
    def files(self) -> dict[str, str]:
        """The package managers' files that were written."""
        return {path.name: path.read_text() for path in self.etc.rglob("gaudi3_scale*") if path.is_file()}

    @property
    def state(self) -> list[str]:
        """What the node knows of bundles; a lock is left where one was taken."""
        return sorted(path.name for path in (self.base / "state").glob("*.json"))
