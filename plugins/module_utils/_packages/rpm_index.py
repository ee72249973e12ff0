# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A dnf repository's signed metadata, read: ``repomd.xml`` vouches for ``primary``, and that for each package."""

from __future__ import annotations

import gzip
import lzma
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping, NamedTuple, Sequence
from xml.etree import ElementTree

from .._errors import GaudiError
from .._node.commands import Run
from .._node.downloads import download, fetch
from . import gnupg

REPOMD = "repodata/repomd.xml"
KEY = "repodata/repomd.xml.key"
_SIGNATURE = "repodata/repomd.xml.asc"
_REPO = "{http://linux.duke.edu/metadata/repo}"
_COMMON = "{http://linux.duke.edu/metadata/common}"


class Rpm(NamedTuple):
    """One package file of the index; ``size`` in bytes."""

    name: str
    version: str
    release: str
    location: str
    size: int
    sha256: str


@dataclass(frozen=True)
class RpmIndex:
    """``files`` maps a path below the repository to its content, everything that dnf reads."""

    files: Mapping[str, bytes]
    packages: Sequence[Rpm]


def read(base: str, keys: str, work: str, run: Run) -> RpmIndex:
    """Fetch and check the metadata of the repository at the URL ``base`` with the keyring ``keys``."""
    option = "packages_url or rpm_repositories"
    files = {
        REPOMD: fetch(f"{base}/{REPOMD}", "The package repository's index", option),
        _SIGNATURE: fetch(f"{base}/{_SIGNATURE}", "The signature of the package repository's index", option),
    }
    paths = {}
    for name, content in files.items():
        paths[name] = Path(work, name.rpartition("/")[2])
        paths[name].parent.mkdir(parents=True, exist_ok=True)
        paths[name].write_bytes(content)
    if not gnupg.detached_is_good(keys, str(paths[_SIGNATURE]), str(paths[REPOMD]), run):
        raise GaudiError(
            f"{base}/{REPOMD} is not signed by the key {base}/{KEY}; nothing was downloaded from there; check "
            "packages_url, "
            "and the clock of this host.",
            url=base,
        )
    packages: list[Rpm] = []
    for kind, location, sha256 in data_files(files[REPOMD].decode("utf-8")):
        target = Path(work, f"metadata-{sha256}")
        download(f"{base}/{location}", str(target), "The package repository's metadata", option, f"sha256:{sha256}")
        files[location] = target.read_bytes()
        target.unlink()
        if kind == "primary":
            packages += parse_primary(_unpacked(location, files[location]))
    return RpmIndex(files, packages)


def data_files(repomd: str) -> list[tuple[str, str, str]]:
    """Kind, path and SHA-256 of each metadata file."""
    found = []
    for data in _parsed(repomd).iter(f"{_REPO}data"):
        location, checksum = data.find(f"{_REPO}location"), data.find(f"{_REPO}checksum")
        if location is None or checksum is None or checksum.get("type") != "sha256":
            raise GaudiError(
                "repomd.xml has a file without a SHA-256; ask for the repository's metadata to be rebuilt."
            )
        found.append((data.get("type", ""), location.get("href", ""), (checksum.text or "").strip()))
    return found


def parse_primary(text: str) -> list[Rpm]:
    """Every package that ``primary.xml`` lists."""
    packages = []
    for package in _parsed(text).iter(f"{_COMMON}package"):
        parts = {child.tag.replace(_COMMON, ""): child for child in package}
        version, checksum = parts["version"], parts["checksum"]
        packages.append(
            Rpm(
                parts["name"].text or "",
                version.get("ver", ""),
                version.get("rel", ""),
                parts["location"].get("href", ""),
                int(parts["size"].get("package", "0")),
                (checksum.text or "").strip() if checksum.get("type") == "sha256" else "",
            )
        )
    return packages


def choose(index: RpmIndex, names: Sequence[str], versions: Sequence[str], base: str) -> list[Rpm]:
    """The packages ``names`` at each of ``versions`` (``1.24.1-482``, without the distribution's suffix)."""
    chosen = []
    for wanted in versions:
        for name in names:
            found = [rpm for rpm in index.packages if rpm.name == name and _is_version(rpm, wanted)]
            if not found:
                has = sorted({f"{rpm.version}-{rpm.release}" for rpm in index.packages if rpm.name == name})
                raise GaudiError(
                    f"The package repository {base} does not offer {name} {wanted} (it has "
                    f"{', '.join(has) or 'no version of it'}); correct release, rpm_packages or packages_url.",
                    package=name,
                )
            chosen += found
    return chosen


def _is_version(rpm: Rpm, wanted: str) -> bool:
    return bool(re.fullmatch(re.escape(wanted) + r"(\.[a-z].*)?", f"{rpm.version}-{rpm.release}"))


def _unpacked(location: str, content: bytes) -> str:
    if location.endswith(".gz"):
        content = gzip.decompress(content)
    elif location.endswith(".xz"):
        content = lzma.decompress(content)
    elif not location.endswith(".xml"):
        raise GaudiError(f"{location} is compressed in a way that is not known here; gzip and xz are.")
    # A checksum in place is no license to read a document that names others.
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise GaudiError(f"{location} declares entities, which metadata never does; do not trust this repository.")
    return content.decode("utf-8")


def _parsed(text: str) -> ElementTree.Element:
    try:
        return ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise GaudiError(f"The repository's metadata is not XML ({error}); look at what it answers.") from error
