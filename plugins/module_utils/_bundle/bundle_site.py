# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node knows of its package repository: whether it is a bundle, and what the bundle's signed manifest says.

What was verified (:mod:`.asking`) is kept on the node. So every later run, and every role, knows without the network
where the distribution's packages and the wheels are.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import Mapping

from .._errors import GaudiError
from .._node.json_file import read_json
from .layout import DISTRIBUTION, SIMPLE, WHEELS
from .manifest import Manifest

RECORD = "/var/lib/gaudi3_scale/repository.json"
# The newest bundle of each key that the node has taken anything from.
SEEN = "/var/lib/gaudi3_scale/bundles_seen.json"


@dataclass(frozen=True)
class Site:
    """A repository. ``text`` is the bundle's manifest as it was signed; empty, like all else, where it is no bundle.

    ``allow_expired``: the operator takes it also when its time is over.
    """

    packages_url: str
    text: str = ""
    manifest: Manifest | None = None
    allow_expired: bool = False

    @property
    def is_bundle(self) -> bool:
        """Whether the package repository is a bundle of this collection's making."""
        return self.manifest is not None

    @property
    def release(self) -> str:
        """The version of the vendor's packages that the bundle is for."""
        return self.manifest.release if self.manifest else ""

    @property
    def releases(self) -> list[str]:
        """The versions of the vendor's packages in the bundle."""
        return list(self.manifest.releases) if self.manifest else []

    def lacks(self, release: str) -> bool:
        """Whether this is a bundle without the packages of that version."""
        return self.is_bundle and bool(release) and release not in self.releases

    @property
    def sha256(self) -> Mapping[str, str]:
        """Path below the package repository to checksum, of every file of the bundle."""
        return {entry.path: entry.sha256 for entry in self.manifest.files} if self.manifest else {}

    @property
    def signed_files(self) -> dict[str, str]:
        """The same by URL."""
        return {self.url(path): digest for path, digest in self.sha256.items()}

    @property
    def index_url(self) -> str:
        """The bundle's pip index for people, empty where it has none; ``training_venv`` goes by :attr:`wheels`."""
        return self.url(SIMPLE) if self.wheels else ""

    @property
    def wheels(self) -> dict[str, str]:
        """URL to checksum of what pip may take."""
        wanted = {path: digest for path, digest in self.sha256.items() if path.startswith(f"{WHEELS}/")}
        return {self.url(path): digest for path, digest in wanted.items() if path.endswith(".whl")}

    def url(self, path: str) -> str:
        """Where a file of the package repository is; a plus or a colon of a file name stays as it is."""
        return f"{self.packages_url}/{urllib.parse.quote(path, safe='/+:~@=!,')}"

    def has_distribution(self, suite: str) -> bool:
        """Whether the bundle has the packages of the distribution with that code name."""
        return bool(suite) and f"{DISTRIBUTION}/dists/{suite}/InRelease" in self.sha256

    def checksum(self, url: str) -> str:
        """``sha256:...`` of the file at this URL, empty where it is not the bundle's."""
        digits = self.signed_files.get(url, "")
        return f"sha256:{digits}" if digits else ""


@dataclass(frozen=True)
class Trust:
    """What the operator says of a bundle: whose it is, and whether one that is older, or expired, will do."""

    fingerprint: str = ""
    allow_older: bool = False
    allow_expired: bool = False


def recorded(packages_url: str, record: str = RECORD) -> Site | None:
    """What an earlier run verified of this repository; None where none did."""
    data = read_json(record) or {}
    repository, text = data.get("packages_url"), data.get("manifest")
    if repository != packages_url.rstrip("/") or not isinstance(repository, str) or not isinstance(text, str):
        return None
    try:
        return Site(repository, text, _manifest(text, record) if text else None, data.get("allow_expired") is True)
    except GaudiError:
        return None


def _manifest(text: str, record: str) -> Manifest:
    # Most package repositories are no bundle, and their nodes need not compile the white lists of one on every run.
    from .manifest_schema import parse

    return parse(text, record)
