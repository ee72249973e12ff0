# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An installed collection, or a checkout of one, as the archive that ``ansible-galaxy collection install`` takes."""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import tarfile
import tempfile
from pathlib import Path

from ...module_utils._errors import GaudiError
from ...module_utils._node.commands import Run, last_line
from ...module_utils._node.json_file import read_json

# Beside the Python that runs this, wherever the search path leads.
_GALAXY = (sys.executable, "-m", "ansible", "galaxy")


def archive(source: str, directory: str, run: Run) -> str:
    """Write the archive of the collection in ``source`` into ``directory``; returns its path. The same bytes each time.

    An installed collection knows its own files (``MANIFEST.json``, ``FILES.json``); a checkout is built first.
    """
    if Path(source, "MANIFEST.json").is_file():
        return _pack(Path(source), Path(directory))
    if not Path(source, "galaxy.yml").is_file():
        raise GaudiError(f"source '{source}' is not a collection: it has neither MANIFEST.json nor galaxy.yml.")
    with tempfile.TemporaryDirectory() as scratch:
        build = [*_GALAXY, "collection", "build", "--force", "--output-path", scratch, source]
        # Ansible wants UTF-8, and a Run has the plain locale, so that messages are English.
        done = run(build, env={"LC_ALL": "C.UTF-8"})
        built = sorted(Path(scratch).glob("*.tar.gz"))
        if done.rc != 0 or not built:
            said = last_line(done.stderr)
            raise GaudiError(f"ansible-galaxy cannot build the collection in {source}: {said}.", rc=done.rc)
        with tarfile.open(built[0]) as made:
            _extract(made, Path(scratch, "content"))
        return _pack(Path(scratch, "content"), Path(directory))


def _extract(made: tarfile.TarFile, target: Path) -> None:
    for member in made:
        path = target / member.name
        if member.isdir():
            path.mkdir(parents=True, exist_ok=True)
        content = made.extractfile(member) if member.isfile() else None
        if content is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read())
            path.chmod(member.mode)


def _pack(source: Path, directory: Path) -> str:
    identity, names = _identity(source), _listed(source)
    lost = [name for name in names if not os.path.lexists(source / name)]
    if lost:
        raise GaudiError(f"The collection in {source} is not complete: {lost[0]} is not there; install it again.")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as packed:
        for name in ["MANIFEST.json", "FILES.json", *names]:
            packed.add(source / name, name, recursive=False, filter=_plain)
    target = directory / f"{identity}.tar.gz"
    # Whoever reads it, or writes the same meanwhile, finds a whole archive.
    with tempfile.NamedTemporaryFile(dir=directory, prefix=f".{target.name}.", delete=False) as whole:
        whole.write(gzip.compress(buffer.getvalue(), mtime=0))
    Path(whole.name).chmod(0o644)
    Path(whole.name).replace(target)
    return str(target)


def _identity(source: Path) -> str:
    about = read_json(str(source / "MANIFEST.json"))
    info = about.get("collection_info") if about else None
    parts = [info.get(key) for key in ("namespace", "name", "version")] if isinstance(info, dict) else []
    identity = "-".join(map(str, parts))
    if not re.fullmatch(r"[A-Za-z0-9_]+-[A-Za-z0-9_]+-[A-Za-z0-9.+-]+", identity):
        raise GaudiError(f"source '{source}' has a MANIFEST.json that names no collection; install it again.")
    return identity


def _listed(source: Path) -> list[str]:
    """The names in ``FILES.json``, each of something below ``source`` and of no link that leads out of it."""
    about = read_json(str(source / "FILES.json"))
    rows = about.get("files") if about else None
    found = [row.get("name") for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    names = [name for name in found if isinstance(name, str) and name]
    if not names or names != found:
        raise GaudiError(f"source '{source}' has a FILES.json without a list of files; install it again.")
    top = os.path.realpath(source)
    for name in names:
        path = f"{top}/{name}"
        if name.startswith("/") or os.path.commonpath([top, os.path.realpath(path), os.path.normpath(path)]) != top:
            raise GaudiError(f"source '{source}' lists {name!r:.80}, which is not in it; install the collection again.")
    return [name for name in names if name != "."]


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without what differs from host to host."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member
