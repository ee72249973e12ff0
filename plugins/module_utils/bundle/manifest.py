# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The manifest of a bundle: every file with size, checksum, source, and who vouches for it; and checking it."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Callable, Iterable, Mapping, Sequence

from ..errors import GaudiError
from ..packages.apt_index import sha256_of
from .plan import MANIFEST, SIGNATURE, SUMS

FORMAT = 1
# These three describe the others.
UNLISTED = (MANIFEST, SIGNATURE, SUMS)
LICENCES = {
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
    """A bundle's contents list. ``fingerprint`` is the key's that signs it and the distribution's packages."""

    release: str
    fingerprint: str
    vault_url: str
    files: Sequence[Entry]
    about: Mapping[str, object]


def render(manifest: Manifest) -> str:
    """The manifest as JSON."""
    files = [{**asdict(entry), "licence": LICENCES.get(entry.part, "")} for entry in manifest.files]
    head = {name: value for name, value in vars(manifest).items() if name != "files"}
    return json.dumps({"format": FORMAT, **head, "files": files}, indent=1, sort_keys=True) + "\n"


def parse(text: str, where: str) -> Manifest:
    """The manifest in ``text``; ``where`` is its path, for the error sentence."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']}, not {FORMAT}")
        files = []
        for row in data["files"]:
            row.pop("licence", None)
            files.append(Entry(**row))
        return Manifest(data["release"], data["fingerprint"], data["vault_url"], files, data.get("about", {}))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise GaudiError(
            f"{where} is not a bundle's manifest ({error}); copy the bundle again, or build it.", file=where
        ) from error


def render_sums(files: Iterable[Entry]) -> str:
    """For ``sha256sum --check`` in the bundle's directory, where nothing of ours is installed."""
    return "".join(f"{entry.sha256}  {entry.path}\n" for entry in files)


@dataclass(frozen=True)
class Findings:
    """What is not as the manifest says; paths below the bundle."""

    missing: Sequence[str]
    wrong: Sequence[str]
    extra: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.missing or self.wrong or self.extra)


def examine(root: str, manifest: Manifest, show: Callable[[int, int], None] = lambda _done, _all: None) -> Findings:
    """Read every file of the bundle. ``show`` is told how many bytes of how many have been read."""
    missing, wrong, done = [], [], 0
    total = sum(entry.size for entry in manifest.files)
    for entry in manifest.files:
        path = Path(root, entry.path)
        if not path.is_file():
            missing.append(entry.path)
        elif path.stat().st_size != entry.size or sha256_of(path) != entry.sha256:
            wrong.append(entry.path)
        done += entry.size
        show(done, total)
    listed = {entry.path for entry in manifest.files} | set(UNLISTED)
    return Findings(missing, wrong, sorted(set(present(root)) - listed))


def present(root: str) -> list[str]:
    """Every file below the bundle. A link counts as a file: nothing here makes one."""
    top = Path(root)
    return [path.relative_to(top).as_posix() for path in top.rglob("*") if path.is_symlink() or not path.is_dir()]


def sentence(root: str, findings: Findings) -> str:
    """What is wrong with the bundle, the first file of each kind by name."""
    kinds = (
        ("missing", findings.missing),
        ("changed or cut short", findings.wrong),
        ("not in the manifest", findings.extra),
    )
    parts = [f"{_named(files)} {'is' if len(files) == 1 else 'are'} {words}" for words, files in kinds if files]
    return (
        f"The bundle {root} is not as its manifest says: {'; '.join(parts)}; copy it again, or run build_bundle again."
    )


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
