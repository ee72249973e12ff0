# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The node library's wheel, written on the controller from the sources that the collection brings.

No build step ran where a collection was installed from git, and no binary lies in it; a wheel of Python files is a zip.
It has the collection's own version. That of a checkout also says which one it is, as in ``1.0.0+checkout1a2b3c4d5e6f``.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._pure_wheel import pure_wheel

COLLECTION = Path(__file__).resolve().parents[2]
DISTRIBUTION = "gaudi3_scale"
# A package of the wheel, and where its files lie in the collection. pyproject.toml says the same to setuptools.
PACKAGES = {"gaudi3_scale": "src/gaudi3_scale", "gaudi3_scale/core": "plugins/module_utils"}
REQUIREMENTS = "src/requirements"
BASE = "base"
ENTRY_POINTS = "[console_scripts]\ngaudi3_scale = gaudi3_scale.__main__:main\n"
HEAD = """\
Metadata-Version: 2.4
Name: gaudi3-scale
Version: {version}
Summary: What runs beside PyTorch on the nodes of a gaudi3.scale cluster: trainer, probe trial, all-reduce check
Author: The gaudi3.scale authors
License-Expression: Apache-2.0
Requires-Python: >=3.10
"""
_VERSION = re.compile(r"""^(?:__version__ = "|version: ["']?)([0-9][0-9A-Za-z.+-]*)["']?$""", re.MULTILINE)


@dataclass(frozen=True)
class BuiltWheel:
    """The wheel's file name and bytes, and what they say."""

    file: str
    content: bytes
    version: str
    extras: tuple[str, ...]

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()


def build(collection: Path = COLLECTION) -> BuiltWheel:
    """The wheel of an installed collection or of a checkout. Raises :class:`GaudiError` where their versions differ."""
    files = _sources(collection)
    needs = _requirements(collection)
    release = _release(collection)
    reported = _VERSION.search(files["gaudi3_scale/__init__.py"].decode())
    if reported is None or reported[1] != release:
        raise GaudiError(
            f"The node library in {collection} has the version {reported[1] if reported else 'none'}, and the "
            f"collection {release}; install the collection again."
        )
    installed = (collection / "MANIFEST.json").is_file()
    version = release if installed else f"{release}+checkout{_digest(files, needs)[:12]}"
    file, content = pure_wheel(DISTRIBUTION, version, _metadata(version, needs), files, ENTRY_POINTS)
    return BuiltWheel(file, content, version, tuple(sorted(needs.keys() - {BASE})))


def _sources(collection: Path) -> dict[str, bytes]:
    found = {}
    for package, folder in PACKAGES.items():
        top = collection / folder
        for path in top.rglob("*.py"):
            place = path.relative_to(top)
            # A checkout may have a link to the core among the sources, which would be a second copy of it.
            if package != DISTRIBUTION or place.parts[0] != "core":
                found[f"{package}/{place.as_posix()}"] = path.read_bytes()
    if "gaudi3_scale/__init__.py" not in found:
        raise GaudiError(f"The collection in {collection} has no node library in src; install the collection again.")
    return found


def _requirements(collection: Path) -> dict[str, list[str]]:
    """Requirements by extra; those of every installation under :data:`BASE`."""
    files = sorted((collection / REQUIREMENTS).glob("*.txt"))
    return {path.stem: path.read_text(encoding="utf-8").split("\n")[:-1] for path in files}


def _release(collection: Path) -> str:
    """The collection's version: of ``MANIFEST.json`` where it is installed, of ``galaxy.yml`` in a checkout."""
    manifest, galaxy = collection / "MANIFEST.json", collection / "galaxy.yml"
    if manifest.is_file():
        return str(json.loads(manifest.read_text(encoding="utf-8"))["collection_info"]["version"])
    reported = _VERSION.search(galaxy.read_text(encoding="utf-8")) if galaxy.is_file() else None
    if reported is None:
        raise GaudiError(f"{collection} has neither MANIFEST.json nor a galaxy.yml with a version; install it again.")
    return reported[1]


def _metadata(version: str, needs: dict[str, list[str]]) -> str:
    lines = [f"Requires-Dist: {need}" for need in needs.get(BASE, [])]
    for extra in sorted(needs.keys() - {BASE}):
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {need}; extra == "{extra}"' for need in needs[extra]]
    return HEAD.format(version=version) + "".join(f"{line}\n" for line in lines)


def _digest(files: dict[str, bytes], needs: dict[str, list[str]]) -> str:
    """Of everything that the wheel is made from."""
    digest = hashlib.sha256(repr(sorted(needs.items())).encode())
    for name, content in sorted(files.items()):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()
