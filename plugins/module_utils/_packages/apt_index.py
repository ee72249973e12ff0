# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""An apt repository's indices, read and written: ``Release`` vouches for ``Packages``, and that for each file."""

from __future__ import annotations

import gzip
import hashlib
import lzma
import time
from fnmatch import fnmatch
from pathlib import Path
from typing import Iterator, Mapping, NamedTuple, Sequence

from .._errors import GaudiError
from .._node.commands import Run, last_line


class IndexedFile(NamedTuple):
    """A file as an index describes it; ``size`` in bytes."""

    size: int
    sha256: str


def stanzas(text: str) -> Iterator[dict[str, str]]:
    """The paragraphs of a control file as field to value; lines that go on are kept with their line ends."""
    fields: dict[str, str] = {}
    name = ""
    for line in [*text.splitlines(), ""]:
        if not line.strip():
            if fields:
                yield fields
            fields = {}
        elif line[0] in " \t":
            fields[name] += f"\n{line}"
        else:
            name, _colon, value = line.partition(":")
            fields[name] = value.strip()


def release_files(text: str) -> dict[str, IndexedFile]:
    """Path below the suite's directory to size and checksum, from a ``Release`` file."""
    fields = next(stanzas(text), {})
    rows = (line.split() for line in fields.get("SHA256", "").splitlines())
    return {row[2]: IndexedFile(int(row[1]), row[0]) for row in rows if len(row) == 3}


def uses_hash_names(text: str) -> bool:
    """Whether clients ask for the index files by their checksum (``by-hash``)."""
    return next(stanzas(text), {}).get("Acquire-By-Hash", "no") == "yes"


def list_files(
    files: Mapping[str, IndexedFile], components: Sequence[str], architectures: Sequence[str]
) -> dict[str, IndexedFile]:
    """Those of :func:`release_files` that an apt of these architectures reads."""
    patterns = [
        f"{component}/{rest}"
        for component in components
        for rest in (
            *(f"binary-{architecture}/Packages*" for architecture in (*architectures, "all")),
            "i18n/Translation-en*",
        )
    ]
    return {path: file for path, file in files.items() if any(fnmatch(path, pattern) for pattern in patterns)}


def packages_text(root: str, pool: str, run: Run) -> str:
    """``Packages`` for every .deb below ``pool``, a directory relative to ``root``."""
    blocks = []
    for path in sorted(Path(root, pool).rglob("*.deb")):
        done = run(["dpkg-deb", "--field", str(path)])
        if done.rc != 0:
            said = last_line(done.stderr)
            raise GaudiError(f"{path} is not a usable Debian package ({said}); remove it and build again.")
        described = {
            "Filename": path.relative_to(root).as_posix(),
            "Size": path.stat().st_size,
            "SHA256": sha256_of(path),
        }
        blocks.append(
            done.stdout.strip("\n") + "\n" + "".join(f"{name}: {value}\n" for name, value in described.items())
        )
    return "\n".join(blocks)


def release_text(suite: str, fields: Mapping[str, str], now: float | None = None) -> str:
    """``Release`` with the checksums of every index below the directory ``suite``."""
    date = time.strftime("%a, %d %b %Y %H:%M:%S UTC", time.gmtime(now))
    lines = [f"{name}: {value}" for name, value in {**fields, "Date": date}.items()]
    lines.append("SHA256:")
    for path in sorted(path for path in Path(suite).rglob("*") if path.is_file() and path.parent != Path(suite)):
        lines.append(f" {sha256_of(path)} {path.stat().st_size} {path.relative_to(suite).as_posix()}")
    return "\n".join(lines) + "\n"


def write_packages(directory: str, text: str) -> bool:
    """Write ``Packages`` and ``Packages.gz``; returns whether the directory had another text."""
    plain = Path(directory, "Packages")
    if plain.exists() and plain.read_text(encoding="utf-8") == text:
        return False
    plain.parent.mkdir(parents=True, exist_ok=True)
    plain.with_suffix(".gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    plain.write_text(text, encoding="utf-8")
    return True


def sha256_of(path: Path) -> str:
    """The checksum of a file of any size."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def read_list(path: Path) -> str:
    """A ``Packages`` file, plain or compressed by gzip or xz."""
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    elif path.suffix == ".xz":
        content = lzma.decompress(content)
    return content.decode("utf-8")
