# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The manifest of a bundle: every file with size, checksum, source, and who vouches for it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Iterable, Mapping, Sequence

FORMAT = 2
TIME_FORM = "%Y-%m-%dT%H:%M:%SZ"
LICENSES = {
    "keys": "public key",
    "packages": "the vendor's; see its terms before you pass the bundle on",
    "rpms": "the vendor's; see its terms before you pass the bundle on",
    "distribution": "see usr/share/doc/PACKAGE/copyright inside each package",
    "pytorch": "the vendor's; see its terms before you pass the bundle on",
    "wheels": "see METADATA inside each wheel",
    "installer": "the vendor's; see its terms before you pass the bundle on",
    "files": "see LICENSE and LICENSES inside",
    "manifest": "Apache-2.0",
}


@dataclass(frozen=True)
class Entry:
    """One file. ``source`` is a URL, or ``built here``; ``vouched`` says who vouches for the checksum."""

    path: str
    size: int
    sha256: str
    source: str
    vouched: str
    part: str = ""


@dataclass(frozen=True)
class Manifest:
    """What a bundle is: all that a node believes of it. Its values are on the white lists of :mod:`.manifest_schema`.

    ``created`` and ``expires`` are UTC as ``2026-11-23T01:50:00Z``, which sorts as time does; ``created`` is the
    bundle's version, later with every change. ``releases`` are the versions of the vendor's packages in it, the first
    is the one that it is for. ``fingerprint`` is the key's that signs it and the distribution's packages, ``keys`` has
    those of the vendor's keys by path, ``parts`` the paths of each part.
    """

    created: str
    expires: str
    releases: Sequence[str]
    fingerprint: str
    packages_url: str
    keys: Mapping[str, str]
    parts: Mapping[str, Sequence[str]]
    files: Sequence[Entry]

    @property
    def release(self) -> str:
        return self.releases[0]


def render(manifest: Manifest) -> str:
    """The manifest as JSON."""
    files = [{**asdict(entry), "license": LICENSES.get(entry.part, "")} for entry in manifest.files]
    return json.dumps({"format": FORMAT, **vars(manifest), "files": files}, indent=1, sort_keys=True) + "\n"


def render_sums(files: Iterable[Entry]) -> str:
    """For ``sha256sum --check`` in the bundle's directory, where nothing of ours is installed."""
    return "".join(f"{entry.sha256}  {entry.path}\n" for entry in files)
