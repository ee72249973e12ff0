# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The repository's apt repository, signed, with every package of every release; and a copy with a wrong signature."""

from __future__ import annotations

import gzip
import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from ..commands import run, step
from ..simulator import releases
from . import deb, hlml_library, packages, signing, upstream_driver
from .layout import ARTIFACTORY, WWW, is_current, replacing

DEBIAN = ARTIFACTORY / "debian"
KEY = ARTIFACTORY / "api" / "gpg"
# A package repository that somebody tampered with: ``gaudi_packages_url: http://packages.sandbox.internal/tampered``.
TAMPERED = WWW / "tampered"
# The same packages with the kernel's own driver: ``gaudi_packages_url: http://packages.sandbox.internal/upstream_driver``.
UPSTREAM = WWW / "upstream_driver"
POOL = Path("pool", "main", "h")


def ensure_apt_repository(suite: str) -> None:
    """Build the repository for ``suite`` (bookworm, jammy, noble) unless it is up to date."""
    digest = _digest(suite)
    if all(is_current(part, digest) for part in (DEBIAN, KEY, TAMPERED)) and signing.SECRET_KEY.exists():
        return
    with step("Package repository: apt repository"), signing.gnupg_home() as home:
        signing.ensure_key(home)
        with replacing(KEY, digest) as scratch:
            _publish_key(home, scratch / "key")
        with replacing(DEBIAN, digest) as scratch:
            _build(scratch, suite, packages.all_packages)
            signing.sign_release(home, scratch / "dists" / suite)
        with replacing(TAMPERED, digest) as scratch:
            _publish_key(home, scratch / "api" / "gpg" / "key")
            _tamper(scratch / "debian", suite)


def ensure_upstream_repository(suite: str) -> None:
    """Build the one beside it, with the kernel's own driver, unless it is up to date; the other one is there."""
    sources = [upstream_driver.source_of(series)[1] for series in upstream_driver.SERIES.values()]
    digest = hashlib.sha256("\n".join((_digest(suite), *sources)).encode()).hexdigest()
    if is_current(UPSTREAM, digest):
        return
    with (
        step("Package repository: apt repository with the kernel's own driver"),
        signing.gnupg_home() as home,
        replacing(UPSTREAM, digest) as scratch,
    ):
        signing.ensure_key(home)
        _publish_key(home, scratch / "api" / "gpg" / "key")
        _build(scratch / "debian", suite, upstream_driver.all_packages)
        signing.sign_release(home, scratch / "debian" / "dists" / suite)


def _build(root: Path, suite: str, packages_of: Callable[[releases.Release], list[deb.DebPackage]]) -> None:
    pool = root / suite / POOL
    pool.mkdir(parents=True)
    for release in releases.RELEASES.values():
        for package in packages_of(release):
            deb.write(package, pool)
    # apt's own tool, and none of the code that indexes a bundle: what the roles read was not written by them.
    index = root / "dists" / suite / "main" / "binary-amd64" / "Packages"
    index.parent.mkdir(parents=True)
    index.write_text(run(["apt-ftparchive", "packages", f"{suite}/{POOL}"], cwd=root), encoding="utf-8")
    index.with_suffix(".gz").write_bytes(gzip.compress(index.read_bytes(), mtime=0))
    described = {
        "Origin": "gaudi3.scale sandbox",
        "Label": "Simulated Gaudi packages",
        "Suite": suite,
        "Codename": suite,
        "Architectures": "amd64",
        "Components": "main",
    }
    directory = root / "dists" / suite
    fields = [f"--option=APT::FTPArchive::Release::{name}={value}" for name, value in described.items()]
    (directory / "Release").write_text(run(["apt-ftparchive", *fields, "release", directory]), encoding="utf-8")


def _publish_key(home: Path, directory: Path) -> None:
    directory.mkdir(parents=True)
    (directory / "public").write_text(signing.public_key(home), encoding="ascii")


def _tamper(root: Path, suite: str) -> None:
    """The same repository signed by a key that nobody published."""
    shutil.copytree(DEBIAN, root)
    with signing.gnupg_home() as stranger:
        signing.make_key(stranger)
        signing.sign_release(stranger, root / "dists" / suite)


def _digest(suite: str) -> str:
    digest = hashlib.sha256(suite.encode())
    sources = [Path(module.__file__ or "") for module in (releases, packages, hlml_library, upstream_driver, deb)]
    sources += [Path(__file__)]
    for path in (*sources, hlml_library.SOURCE, *sorted(packages.DKMS_SOURCES.iterdir())):
        digest.update(path.read_bytes())
    return digest.hexdigest()
