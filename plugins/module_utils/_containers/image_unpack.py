# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The program that makes a directory of an image's layers, as the job's account (OCI image specification, layer.md).

It runs with that account's rights alone, since an image is somebody else's archive: files belong to the account,
whatever the layer says, set-user-ID bits and device nodes are left out, and a link in one layer never leads a file of
the next one out of the directory. podman's own storage would need more than one user id for most images (newuidmap,
which is set-user-ID root), and a job's unit gains no privileges.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

from .._errors import GaudiError

ROOT, CONFIGURATION = "rootfs", "image.json"
_WHITEOUT, _OPAQUE = ".wh.", ".wh..wh..opq"
# As the kernel itself (path_resolution(7)).
_MOST_LINKS = 40
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 20


def main(argv: Sequence[str]) -> int:
    """``argv``: a directory in the OCI image layout with one image, and the directory to make of it."""
    layout, target = argv
    try:
        unpack(Path(layout), Path(target))
    except (GaudiError, OSError, tarfile.TarError, EOFError, ValueError, KeyError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def unpack(layout: Path, target: Path) -> None:
    """``target``/rootfs with all layers, and ``target``/image.json with the image's configuration, written last."""
    manifest = _manifest(layout)
    configuration = _read_blob(layout, manifest["config"]["digest"])
    root = target / ROOT
    root.mkdir(parents=True)
    for layer in manifest["layers"]:
        with _opened_layer(layout, layer["digest"]) as stream:
            apply_layer(stream, root)
    new = target / f"{CONFIGURATION}.new"
    new.write_bytes(configuration)
    new.replace(target / CONFIGURATION)


def _manifest(layout: Path) -> Mapping[str, Any]:
    """The one image of the layout, of several platforms the one that was copied."""
    found = json.loads((layout / "index.json").read_bytes())
    while "manifests" in found:
        (first,) = found["manifests"][:1]
        found = json.loads(_read_blob(layout, first["digest"]))
    return cast("Mapping[str, Any]", found)


def _blob(layout: Path, digest: str) -> Path:
    kind, _colon, value = digest.partition(":")
    if not kind.isalnum() or not value.isalnum():
        raise GaudiError(f"the image has the digest {digest!r:.80}, which is none; build it anew.")
    return layout / "blobs" / kind / value


def _read_blob(layout: Path, digest: str) -> bytes:
    data = _blob(layout, digest).read_bytes()
    if f"sha256:{hashlib.sha256(data).hexdigest()}" != digest:
        raise GaudiError(f"{digest} of the image has another content than its name says; fetch it again.")
    return data


@contextlib.contextmanager
def _opened_layer(layout: Path, digest: str) -> Iterator[IO[bytes]]:
    """The layer's archive, whichever way it is compressed: by its first bytes, since media types differ by tool."""
    path = _blob(layout, digest)
    with path.open("rb") as stream:
        begin = stream.read(4)
    if begin.startswith(_GZIP):
        with gzip.open(path) as opened:
            yield cast("IO[bytes]", opened)
    elif begin == _ZSTD:
        program = shutil.which("zstd")
        if program is None:
            raise GaudiError("a layer of the image is compressed by zstd, which this node does not have; install zstd.")
        with subprocess.Popen([program, "-dc", str(path)], stdout=subprocess.PIPE) as process:
            yield cast("IO[bytes]", process.stdout)
            if process.wait() != 0:
                raise GaudiError(f"zstd cannot read layer {digest} of the image; fetch it again.")
    else:
        with path.open("rb") as stream:
            yield stream


def apply_layer(stream: IO[bytes], root: Path) -> None:
    """Add one layer's entries to the directory, and take away what it says is gone."""
    modes: list[tuple[Path, int]] = []
    written: set[Path] = set()
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            _apply(member, archive, root, modes, written)
    # At the end: a directory without the right to write would take no files.
    for path, mode in reversed(modes):
        if path.is_dir() and not path.is_symlink():
            path.chmod(mode)


def _apply(
    member: tarfile.TarInfo, archive: tarfile.TarFile, root: Path, modes: list[tuple[Path, int]], written: set[Path]
) -> None:
    parts = _parts(member.name)
    if not parts:
        return
    directory = inside(root, parts[:-1])
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / parts[-1]
    if path.name == _OPAQUE:
        # What the layers before had in it; its own entries may stand before this one.
        for entry in set(directory.iterdir()) - written:
            _remove(entry)
        return
    if path.name.startswith(_WHITEOUT):
        _remove(directory / path.name[len(_WHITEOUT) :])
        return
    written.update((path, *path.parents))
    _add(member, archive, root, path, modes)


def _add(
    member: tarfile.TarInfo, archive: tarfile.TarFile, root: Path, path: Path, modes: list[tuple[Path, int]]
) -> None:
    if member.isdir():
        if path.is_symlink() or not path.is_dir():
            _remove(path)
            path.mkdir()
        # The account itself must get into it and empty it.
        modes.append((path, (member.mode & 0o777) | 0o700))
    elif member.isreg():
        _remove(path)
        _write(archive.extractfile(member), path)
        path.chmod((member.mode & 0o777) | 0o600)
        os.utime(path, (member.mtime, member.mtime))
    elif member.issym():
        _remove(path)
        path.symlink_to(member.linkname)
    elif member.islnk():
        linked = _parts(member.linkname)
        if linked:
            _remove(path)
            os.link(inside(root, linked[:-1]) / linked[-1], path, follow_symlinks=False)


def _parts(name: str) -> list[str]:
    """The names in a path of an archive; none for one that leads out of it."""
    parts = [part for part in name.split("/") if part not in ("", ".")]
    return [] if ".." in parts else parts


def _write(source: IO[bytes] | None, path: Path) -> None:
    with path.open("xb") as target:
        while source is not None and (piece := source.read(_PIECE)):
            target.write(piece)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def inside(root: Path, parts: Sequence[str]) -> Path:
    """Where a path of the image lies below ``root``: links are followed as they would be in the container."""
    left, found, links = list(reversed(parts)), [root], 0
    while left:
        part = left.pop()
        if part in ("", "."):
            continue
        if part == "..":
            found = found[:-1] or [root]
            continue
        path = found[-1] / part
        if not path.is_symlink():
            found.append(path)
            continue
        links += 1
        if links > _MOST_LINKS:
            raise GaudiError(f"the image has links without an end at {'/'.join(parts)}; build it anew.")
        target = str(path.readlink())
        if target.startswith("/"):
            found = [root]
        left.extend(reversed(target.split("/")))
    return found[-1]
