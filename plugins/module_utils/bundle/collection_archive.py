# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""An installed collection, or a checkout of one, as the archive that ``ansible-galaxy collection install`` takes."""

from __future__ import annotations

import gzip
import io
import json
import sys
import tarfile
import tempfile
from pathlib import Path

from ..errors import GaudiError
from ..node.commands import Run, last_line

# Beside the Python that runs this, wherever the search path leads.
_GALAXY = (sys.executable, "-m", "ansible", "galaxy")


def archive(source: str, directory: str, run: Run) -> str:
    """Write the archive of the collection in ``source`` into ``directory``; returns its path. The same bytes each time.

    An installed collection knows its own files (``MANIFEST.json``, ``FILES.json``); a checkout is built first.
    """
    if Path(source, "MANIFEST.json").is_file():
        return _pack(Path(source), Path(directory))
    if not Path(source, "galaxy.yml").is_file():
        raise GaudiError(f"source '{source}' is no collection: it has neither MANIFEST.json nor galaxy.yml.")
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
    about = json.loads((source / "MANIFEST.json").read_text(encoding="utf-8"))["collection_info"]
    listed = json.loads((source / "FILES.json").read_text(encoding="utf-8"))["files"]
    names = [row["name"] for row in listed if row["name"] != "."]
    lost = [name for name in names if not (source / name).exists()]
    if lost:
        raise GaudiError(f"The collection in {source} is not complete: {lost[0]} is not there; install it again.")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as packed:
        for name in ["MANIFEST.json", "FILES.json", *names]:
            packed.add(source / name, name, recursive=False, filter=_plain)
    target = directory / f"{about['namespace']}-{about['name']}-{about['version']}.tar.gz"
    target.write_bytes(gzip.compress(buffer.getvalue(), mtime=0))
    return str(target)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without what differs from host to host."""
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member
