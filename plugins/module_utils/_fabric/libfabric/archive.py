# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Archives of sources and of what was built: unpacked without leaving their place, packed the same each time."""

from __future__ import annotations

import gzip
import os
import posixpath
import tarfile
from contextlib import ExitStack
from pathlib import Path

from ..._errors import GaudiError

# Many times what libfabric has; an archive that goes on and on would fill the disk.
MOST_FILES, MOST_BYTES = 50_000, 2 << 30


def unpack(archive: str, target: str, option: str) -> None:
    """All files, directories and links of ``archive`` into ``target``; whoever wrote it, they are of who unpacks.

    Raises GaudiError for what is no archive, and for a member that would be written, or lead, out of ``target``.
    """
    files = size = 0
    try:
        with tarfile.open(archive) as source:
            for member in source:
                files, size = files + 1, size + member.size
                if files > MOST_FILES or size > MOST_BYTES:
                    raise GaudiError(f"{archive} unpacks to more than libfabric can have; correct {option}.")
                if _is_plain(member) and _stays(member, os.path.realpath(target)):
                    _extract(source, member, target)
                elif _is_plain(member):
                    raise GaudiError(f"{archive} has {member.name!r:.100}, which leads out of it; correct {option}.")
    except (tarfile.TarError, EOFError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise GaudiError(f"{archive} is not a tar archive that can be unpacked; correct {option}.") from error


def _is_plain(member: tarfile.TarInfo) -> bool:
    """A device or a pipe, which sources do not have, is left out."""
    return member.isreg() or member.isdir() or member.issym() or member.islnk()


def _stays(member: tarfile.TarInfo, target: str) -> bool:
    """Whether it is written below ``target``, and leads there where it is a link.

    Its directory has to be the one that its name says: through a link it would be another, with other ways out.
    """
    place = posixpath.normpath(member.name)
    if place.startswith("/") or ".." in member.name.split("/"):
        return False
    directory = posixpath.dirname(place)
    if os.path.realpath(f"{target}/{directory}") != posixpath.normpath(f"{target}/{directory}"):
        return False
    if member.issym():
        return _is_inside(posixpath.join(directory, member.linkname))
    return not member.islnk() or (
        _is_inside(member.linkname) and os.path.realpath(f"{target}/{member.linkname}").startswith(f"{target}/")
    )


def _is_inside(path: str) -> bool:
    led = posixpath.normpath(path)
    return not led.startswith(("/", "../")) and led != ".."


def _extract(source: tarfile.TarFile, member: tarfile.TarInfo, target: str) -> None:
    member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    source.extract(member, target, numeric_owner=True)


def only_directory(place: str, archive: str, option: str) -> Path:
    """The one directory that archives of sources have at their top."""
    found = sorted(Path(place).iterdir())
    if len(found) != 1 or not found[0].is_dir():
        raise GaudiError(
            f"{archive} does not have exactly one top-level directory, as source archives do; correct {option}."
        )
    return found[0]


def pack(directory: str, archive: str) -> None:
    """Everything below ``directory``, in the order of names and without times and owners."""
    with ExitStack() as stack:
        raw = stack.enter_context(Path(archive).open("wb"))
        zipped = stack.enter_context(gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0))
        packed = stack.enter_context(tarfile.open(fileobj=zipped, mode="w"))
        for path in sorted(Path(directory).rglob("*")):
            packed.add(str(path), str(path.relative_to(directory)), recursive=False, filter=_plain)


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member
