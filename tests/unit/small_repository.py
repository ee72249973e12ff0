# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A small repository and a small distribution on disk, signed by real keys, for tests that build a bundle from them."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._bundle.plan import APT_KEY, BundleOptions
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._packages import apt_index, gnupg

TOOLS = ("apt-get", "gpg", "gpgv", "dpkg-deb")


def deb(directory: Path, name: str, version: str, depends: str = "") -> None:
    """A package with nothing in it."""
    root = directory / f"{name}-root"
    (root / "DEBIAN").mkdir(parents=True)
    control = f"Package: {name}\nVersion: {version}\nArchitecture: all\nMaintainer: T <t@localhost>\nDescription: t\n"
    (root / "DEBIAN/control").write_text(control + (f"Depends: {depends}\n" if depends else ""))
    target = directory / f"{name}_{version}_all.deb"
    subprocess.run(
        ["dpkg-deb", "--root-owner-group", "--build", str(root), str(target)], check=True, capture_output=True
    )
    subprocess.run(["rm", "-r", str(root)], check=True)


def publish(root: Path, suite: str, packages: Mapping[tuple[str, str], str], secret: Path) -> str:
    """An apt repository with ``packages`` (name and version to dependencies); returns the key that signs it."""
    pool = root / "pool" / suite
    pool.mkdir(parents=True)
    for (name, version), depends in packages.items():
        deb(pool, name, version, depends)
    directory = root / "dists" / suite
    text = apt_index.packages_text(str(root), f"pool/{suite}", run_process)
    apt_index.write_packages(str(directory / "main/binary-amd64"), text)
    fields = {"Suite": suite, "Codename": suite, "Components": "main", "Architectures": "amd64"}
    (directory / "Release").write_text(apt_index.release_text(str(directory), fields))
    with gnupg.home(run_process) as home:
        gnupg.ensure_key(home, str(secret), "a test <test@localhost>", run_process)
        gnupg.sign_release(home, str(directory), run_process)
        return gnupg.public_key(home, run_process)


class SmallRepository:
    """``www`` is the package repository; ``options`` are those that build a bundle from it into ``bundle``."""

    def __init__(self, base: Path) -> None:
        self.base, self.www, self.bundle = base, base / "www", base / "site/bundle"
        driver = {(f"habanalabs-{name}", f"1.2{line}"): "" for name in ("thunk",) for line in ("4.1-482", "3.0-695")}
        driver |= {("habanalabs-dkms", f"1.2{line}"): "habanalabs-thunk, builder" for line in ("4.1-482", "3.0-695")}
        driver[("habanalabs-unwanted", "1.24.1-482")] = ""
        key = publish(self.www / "debian", "jammy", driver, base / "vendor-secret.asc")
        path = self.www / APT_KEY
        path.parent.mkdir(parents=True)
        path.write_text(key)
        own = {
            ("builder", "1.0"): "compiler",
            ("compiler", "12-1"): "",
            ("headers-6.8", "1"): "",
            ("unneeded", "1"): "",
        }
        key = publish(base / "distribution", "jammy", own, base / "distribution-secret.asc")
        (base / "distribution.asc").write_text(key)

    @property
    def url(self) -> str:
        return f"file://{self.www}"

    @property
    def sources(self) -> str:
        return f"deb [signed-by={self.base}/distribution.asc] file:{self.base}/distribution jammy main\n"

    def options(self, part: str, **more: object) -> BundleOptions:
        given: dict[str, object] = {
            "path": str(self.bundle),
            "packages_url": self.url,
            "release": "1.24.1",
            "part": part,
            "suite": "jammy",
            "packages": ["habanalabs-dkms"],
            "os_packages": ["headers-{kernel}"],
            "kernels": ["6.8"],
            "distribution_sources": self.sources,
            "distribution_base": False,
            "os_directory": "ubuntu2204",
            "signing_key": str(self.base / "site-secret.asc"),
        }
        return BundleOptions(**{**given, **more})  # type: ignore[arg-type]
