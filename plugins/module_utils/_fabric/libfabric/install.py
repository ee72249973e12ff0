# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A built libfabric on a node: unpacked beside the one that is there, put in its place in one step."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..._errors import GaudiError
from ..._node.commands import Run, last_line
from ..._node.digests import file_digest
from ..._node.json_file import read_json
from ..._node.lock import exclusive
from ..._node.os_release import os_release
from ..._node.rendered_files import WantedFile, pending, write
from ..._node.umask import readable_by_all
from ..ofi_wrapper import WRAPPER, put_wrapper, tell_loader, wrapper_file
from .archive import unpack
from .build import BUILT, MANIFEST
from .plan import PREFIX

# Before every other entry: the distribution's own libfabric would be found first.
LOADER_FILE = "ld.so.conf.d/00-gaudi3-scale-libfabric.conf"
_DIRECTORY = "libfabric-"


@dataclass(frozen=True)
class LibraryPlace:
    """Where the library goes, below ``root``."""

    root: str = "/"

    @property
    def prefix(self) -> Path:
        """A link to the directory of one build."""
        return Path(self.root, PREFIX.lstrip("/"))

    @property
    def wrapper(self) -> Path:
        """Where HCCL looks for its wrapper."""
        return wrapper_file(self.root)

    @property
    def etc(self) -> str:
        return str(Path(self.root, "etc"))

    @property
    def state(self) -> str:
        return str(Path(self.root, "var/lib/gaudi3_scale"))

    def directory(self, key: str) -> Path:
        """That of one build."""
        return self.prefix.with_name(f"{_DIRECTORY}{key}")


def loader_file(place: LibraryPlace) -> WantedFile:
    """What tells the loader of it."""
    return WantedFile(f"{place.etc}/{LOADER_FILE}", f"# Written by gaudi3.scale.\n{PREFIX}/lib\n")


def system_of(run: Run, etc: str) -> dict[str, str]:
    """What nodes have to have in common to use one build."""
    release = os_release(etc)
    machine = run(["uname", "-m"]).stdout.strip()
    return {"os": release.get("ID", ""), "version": release.get("VERSION_ID", ""), "machine": machine}


def installed(place: LibraryPlace) -> dict[str, Any]:
    """The manifest of the build that the node has, all of it; empty where none is, or where a part is missing."""
    manifest = read_json(str(place.prefix / MANIFEST)) or {}
    whole = bool(manifest) and (place.prefix / "lib/libfabric.so.1").exists() and not pending([loader_file(place)])
    if whole and manifest.get("wrapper"):
        whole = _same(place.prefix / WRAPPER, place.wrapper)
    return manifest if whole and place.prefix.resolve() == place.directory(str(manifest.get("key"))).resolve() else {}


def _same(one: Path, other: Path) -> bool:
    return one.is_file() and other.is_file() and file_digest(one, "sha256") == file_digest(other, "sha256")


def install(archive: str, checksum: str, key: str, run: Run, place: LibraryPlace) -> dict[str, Any]:
    """Bring the built ``archive`` into its place; returns its manifest. Can be begun again wherever it ended."""
    found = file_digest(Path(archive), "sha256")
    if found != checksum:
        raise GaudiError(f"The built libfabric reached this node with the SHA-256 {found}, not {checksum}; run again.")
    with exclusive("libfabric", 300.0, directory=place.state, remedy="wait for it to finish"), readable_by_all():
        place.prefix.parent.mkdir(parents=True, exist_ok=True)
        fresh = place.prefix.with_name(f".{_DIRECTORY}{key}")
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            fresh.mkdir()
            unpack(archive, str(fresh), "gaudi_fabric_libfabric_archive")
            manifest = _examined(fresh, key, run)
            _put(fresh, manifest, place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        _tell_loader(manifest, run, place)
        _remove_others(place, key)
        return manifest


def _examined(fresh: Path, key: str, run: Run) -> dict[str, Any]:
    """The manifest of what was unpacked, once it has run here: a library of another system does not."""
    manifest = read_json(str(fresh / MANIFEST)) or {}
    if manifest.get("key") != key:
        raise GaudiError("This libfabric was built for other nodes; remove it on the controller and run again.")
    done = run([str(fresh / BUILT / "bin/fi_info"), "--version"], env={"LD_LIBRARY_PATH": str(fresh / BUILT / "lib")})
    if done.rc != 0 or f"libfabric: {manifest.get('version')}" not in done.stdout:
        raise GaudiError(
            "The built libfabric does not run on this node and was not installed: `fi_info --version` says "
            f"{last_line(done.stderr or done.stdout)!r:.200}."
        )
    return manifest


def _put(fresh: Path, manifest: dict[str, Any], place: LibraryPlace) -> None:
    """The directory of this build beside the others, and then the link to it, which is one step."""
    top = fresh / BUILT
    (fresh / MANIFEST).rename(top / MANIFEST)
    if manifest.get("wrapper"):
        (fresh / WRAPPER).rename(top / WRAPPER)
    target = place.directory(str(manifest["key"]))
    shutil.rmtree(target, ignore_errors=True)
    top.rename(target)
    link = place.prefix.with_name(".libfabric-link")
    link.unlink(missing_ok=True)
    link.symlink_to(target.name)
    if place.prefix.is_dir() and not place.prefix.is_symlink():
        raise GaudiError(
            f"{place.prefix} is a directory, not a link made by this collection; move it away, and run again."
        )
    link.replace(place.prefix)


def _tell_loader(manifest: dict[str, Any], run: Run, place: LibraryPlace) -> None:
    if manifest.get("wrapper"):
        put_wrapper(place.prefix / WRAPPER, place.wrapper)
    for change in pending([loader_file(place)]):
        write(change)
    tell_loader(run)


def _remove_others(place: LibraryPlace, key: str) -> None:
    kept = place.directory(key)
    others: Sequence[Path] = [path for path in place.prefix.parent.glob(f"{_DIRECTORY}*") if path != kept]
    for path in others:
        shutil.rmtree(path, ignore_errors=True)
