# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A registry in a directory, such as one on a site's NFS: no server, and no lock that somebody could hold for ever."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from pathlib import Path
from typing import BinaryIO, Iterator

from .._errors import GaudiError
from .._node.regular_file import open_regular, read_bounded
from .files import Digesting, pieces

_MODE = 0o644


class DirectoryStore:
    """``path`` is made where it is missing. Whoever may write there may remove and move, so it has to be root's."""

    def __init__(self, path: str, option: str) -> None:
        self._path = Path(path)
        self._option = option

    def address(self, key: str) -> str:
        return str(self._path / key)

    def names(self, folder: str) -> list[str]:
        with self._told(folder):
            found = self._folder(folder)
            # What begins with a dot is being written, or was left by a run that was cut off.
            return sorted(one.name for one in found.iterdir() if one.name[0] != ".") if found.exists() else []

    def below(self, folder: str) -> list[str]:
        with self._told(folder):
            top = self._folder(folder)
            files = (one for one in top.rglob("*") if one.is_symlink() or not one.is_dir())
            return sorted(one.relative_to(top).as_posix() for one in files if not _is_unfinished(one))

    def read(self, key: str, most: int) -> bytes | None:
        with self._told(key):
            try:
                return read_bounded(str(self._file(key)), most)
            except FileNotFoundError:
                return None
        raise AssertionError(key)

    @contextlib.contextmanager
    def opened(self, key: str) -> Iterator[BinaryIO]:
        with self._told(key):
            stream = open_regular(str(self._file(key)))
        with stream:
            yield stream

    def create(self, key: str, content: bytes) -> bool:
        with self._told(key), self._unfinished(key) as (stream, written, target):
            stream.write(content)
            _keep(stream)
            try:
                # link(2) fails where the name is taken, also on NFS, where an exclusive open(2) did not always.
                os.link(written, target)
            except FileExistsError:
                return False
            _keep_names(target.parent)
            return True
        raise AssertionError(key)

    def put(self, key: str, stream: Digesting) -> None:
        with self._told(key), self._unfinished(key) as (written_to, written, target):
            for piece in pieces(stream):
                written_to.write(piece)
            _keep(written_to)
            written.replace(target)
            _keep_names(target.parent)

    def remove(self, key: str) -> None:
        with self._told(key):
            self._file(key).unlink(missing_ok=True)

    @contextlib.contextmanager
    def _unfinished(self, key: str) -> Iterator[tuple[BinaryIO, Path, Path]]:
        """A file to write beside the target, which is gone at the end unless it was renamed."""
        target = self._file(key)
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=_UNFINISHED, dir=target.parent)
        try:
            with os.fdopen(descriptor, "wb") as stream:
                os.fchmod(descriptor, _MODE)
                yield stream, Path(name), target
        finally:
            Path(name).unlink(missing_ok=True)

    def _file(self, key: str) -> Path:
        folder, _slash, name = key.rpartition("/")
        return self._folder(folder) / name

    def _folder(self, folder: str) -> Path:
        """It, where no part of its way within the registry is a link."""
        here = self._path
        for part in folder.split("/"):
            here = here / part
            if here.is_symlink():
                raise GaudiError(f"{self._option}: {here} is a link, which may lead out of the registry; remove it.")
        return here

    @contextlib.contextmanager
    def _told(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            remedy = _REMEDIES.get(error.errno or 0, "name another place")
            raise GaudiError(f"{self._option}: {self.address(key)}: {error.strerror or error}; {remedy}.") from error


_UNFINISHED = ".unfinished-"
_REMEDIES = {
    errno.ENOSPC: "free space there, or name another place",
    errno.EDQUOT: "free space there, or name another place",
    errno.ELOOP: "it is a link; remove it",
    errno.EACCES: "run it as an account that may read and write there",
    errno.EPERM: "name a place whose file system has hard links",
}


def _is_unfinished(path: Path) -> bool:
    return path.name.startswith(_UNFINISHED)


def _keep(stream: BinaryIO) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def _keep_names(folder: Path) -> None:
    """Of a server that loses its power the new name is there, too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
