# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The repository's dnf repository for RHEL 9, with the vendor's two signatures, and two copies that are signed wrongly.

The metadata is signed by one key (published beside it) and the packages by another (published where the vendor does).
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from ..commands import run, step
from ..simulator import releases
from . import deb, hlml_library, packages, rpm, signing
from .layout import ARTIFACTORY, HOME, WWW, is_current, replacing

DIRECTORY = Path("rhel", "9", "9.6")
REPOSITORY = ARTIFACTORY / DIRECTORY
PACKAGE_KEY = Path("gaudi-general", "keyPairs", "primary")
METADATA_SECRET = HOME / "rpm-metadata-key.asc"
PACKAGE_SECRET = HOME / "rpm-package-key.asc"
# Package repositories that somebody tampered with: their URLs are ``http://packages.sandbox.internal/<name>``.
WRONG_METADATA = WWW / "tampered_rpm_metadata"
WRONG_PACKAGES = WWW / "tampered_rpm_packages"
# Our packages are small and few: one thread, and metadata that every dnf reads.
_CREATE = ("createrepo_c", "--quiet", "--general-compress-type", "gz", "--no-database")


def ensure_rpm_repository() -> None:
    """Build the repository and its copies unless they are up to date; needs rpmbuild, rpmsign and createrepo_c."""
    digest = _digest()
    parts = (REPOSITORY, ARTIFACTORY / PACKAGE_KEY, WRONG_METADATA, WRONG_PACKAGES)
    if all(is_current(part, digest) for part in parts):
        return
    with step("Package repository: dnf repository"), signing.gnupg_home() as metadata, signing.gnupg_home() as packager:
        signing.ensure_key(metadata, METADATA_SECRET)
        signing.ensure_key(packager, PACKAGE_SECRET)
        with replacing(ARTIFACTORY / PACKAGE_KEY, digest) as scratch:
            (scratch / "public").write_text(signing.public_key(packager), encoding="ascii")
        with replacing(REPOSITORY, digest) as scratch:
            for release in releases.RELEASES.values():
                rpm.write_all(packages.all_packages(release), scratch)
            signing.sign_packages(packager, scratch)
            _describe(scratch, metadata)
        with signing.gnupg_home() as stranger:
            signing.make_key(stranger)
            with replacing(WRONG_METADATA, digest) as scratch:
                copy = _copy(scratch)
                signing.sign_metadata(stranger, copy / "repodata")
            with replacing(WRONG_PACKAGES, digest) as scratch:
                copy = _copy(scratch)
                signing.sign_packages(stranger, copy)
                _describe(copy, metadata)


def _describe(directory: Path, metadata: Path) -> None:
    """The repository's metadata with its signature, and the key of that signature where the vendor puts it."""
    run([*_CREATE, directory])
    signing.sign_metadata(metadata, directory / "repodata")
    (directory / "repodata" / "repomd.xml.key").write_text(signing.public_key(metadata), encoding="ascii")


def _copy(root: Path) -> Path:
    """The whole package repository for RHEL once more below ``root``."""
    shutil.copytree(ARTIFACTORY / PACKAGE_KEY, root / PACKAGE_KEY)
    shutil.copytree(REPOSITORY, root / DIRECTORY)
    return root / DIRECTORY


def _digest() -> str:
    digest = hashlib.sha256()
    modules = (releases, packages, hlml_library, deb, rpm, signing)
    sources = [Path(module.__file__ or "") for module in modules] + [Path(__file__)]
    for path in (*sources, hlml_library.SOURCE, *sorted(packages.DKMS_SOURCES.iterdir())):
        digest.update(path.read_bytes())
    return digest.hexdigest()
