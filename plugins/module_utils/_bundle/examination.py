# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A bundle's files held against its manifest: what is missing, what is another, and what nobody listed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Sequence

from .._packages.apt_index import sha256_of
from .layout import MANIFEST, SIGNATURE, SUMS
from .manifest import Manifest

# These three describe the others.
UNLISTED = (MANIFEST, SIGNATURE, SUMS)


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
        f"The bundle {root} does not match its manifest: {'; '.join(parts)}; copy it again, or run build_bundle again."
    )


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more"
