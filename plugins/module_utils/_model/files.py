# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The files of a model in a directory that somebody else may change while root reads it: no link is followed."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Iterator, Mapping

from .._errors import GaudiError
from .._node.account_directory import account_of, acting_as
from .._node.regular_file import open_regular
from .names import path_fault

PIECE = 1 << 20
MOST_FILES = 20_000
DEEPEST = 8
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True)
class Digest:
    """What a file is."""

    bytes: int
    sha256: str


class Digesting:
    """What is read through it is counted; ``read`` alone, so that whoever sends it on reads it once and in order."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._sha256 = hashlib.sha256()
        self._bytes = 0

    def read(self, size: int = -1) -> bytes:
        piece = self._stream.read(size)
        self._sha256.update(piece)
        self._bytes += len(piece)
        return piece

    def digest(self) -> Digest:
        return Digest(self._bytes, self._sha256.hexdigest())


def pieces(stream: BinaryIO | Digesting) -> Iterator[bytes]:
    while piece := stream.read(PIECE):
        yield piece


def digest_of(stream: BinaryIO) -> Digest:
    counted = Digesting(stream)
    for _piece in pieces(counted):
        pass
    return counted.digest()


class ModelDirectory:
    """A directory and the files below it, opened with the rights of whom it belongs to: on NFS root may have none."""

    def __init__(self, path: str, option: str) -> None:
        self.path = path
        self._option = option

    def digests(self) -> Mapping[str, Digest]:
        """Relative path to digest of each file; GaudiError for a link, a pipe, and where there is no file at all."""
        found = {}
        for name in self.names():
            with self.opened(name) as stream:
                found[name] = digest_of(stream)
        if not found:
            raise GaudiError(f"{self._option} {self.path}: it has no files; name the directory of an exported model.")
        return found

    def names(self) -> list[str]:
        """The relative paths of all files, in order."""
        with self._owned() as top:
            found = sorted(self._below(top, "", 0))
        for name in found:
            fault = path_fault(name)
            if fault:
                raise GaudiError(f"{self._option} {self.path}: {name[:200]!r}: {fault}; rename it.")
        return found

    @contextlib.contextmanager
    def opened(self, name: str) -> Iterator[BinaryIO]:
        """A file of it, to read; its way is gone folder by folder, and no link is one."""
        folders, last = name.split("/")[:-1], name.split("/")[-1]
        with contextlib.ExitStack() as stack:
            with self._owned() as top:
                here = top
                try:
                    for folder in folders:
                        here = os.open(folder, _DIRECTORY, dir_fd=here)
                        stack.callback(os.close, here)
                    stream = stack.enter_context(open_regular(last, here))
                except OSError as error:
                    raise self._unreadable(name, error) from error
            yield stream

    def _below(self, directory: int, prefix: str, depth: int) -> list[str]:
        found: list[str] = []
        with os.scandir(directory) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
        for entry in listed:
            name = f"{prefix}{entry.name}"
            mode = entry.stat(follow_symlinks=False).st_mode
            if stat.S_ISLNK(mode):
                raise GaudiError(
                    f"{self._option} {self.path}: {name} is a link, which may lead out of it; put the file itself "
                    "there (cp -L)."
                )
            if stat.S_ISDIR(mode) and depth < DEEPEST:
                below = os.open(entry.name, _DIRECTORY, dir_fd=directory)
                try:
                    found += self._below(below, f"{name}/", depth + 1)
                finally:
                    os.close(below)
            elif stat.S_ISREG(mode):
                found.append(name)
            else:
                raise GaudiError(f"{self._option} {self.path}: {name} is not a plain file; remove it.")
            if len(found) > MOST_FILES:
                raise GaudiError(f"{self._option} {self.path}: it has more than {MOST_FILES} files; it is no model.")
        return found

    @contextlib.contextmanager
    def _owned(self) -> Iterator[int]:
        try:
            about = Path(self.path).stat()
            with acting_as(account_of(about.st_uid, about.st_gid)):
                top = os.open(self.path, _DIRECTORY & ~os.O_NOFOLLOW)
                try:
                    yield top
                finally:
                    os.close(top)
        except FileNotFoundError as error:
            raise GaudiError(f"{self._option}: there is no directory {self.path}; correct the path.") from error
        except OSError as error:
            raise GaudiError(
                f"{self._option} {self.path} cannot be read ({error.strerror}); correct the path."
            ) from error

    def _unreadable(self, name: str, error: OSError) -> GaudiError:
        if error.errno in (errno.ELOOP, errno.ENOTDIR):
            return GaudiError(f"{self._option} {self.path}: {name} is a link; put the file itself there (cp -L).")
        return GaudiError(f"{self._option} {self.path}: {name} cannot be read ({error.strerror}).")
