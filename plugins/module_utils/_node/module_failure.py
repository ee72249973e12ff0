# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a module answers when it could not do its work: always a sentence, whatever was raised."""

from __future__ import annotations

import errno
import os
import traceback
from typing import Any

from .._errors import GaudiError
from .screen_text import lines_of, one_line

ISSUES = "https://github.com/gaudi3-scale/gaudi3.scale/issues"
_COLLECTION = "/gaudi3/scale/"
_REMEDIES = {
    errno.ENOSPC: "free some space on its file system",
    errno.EDQUOT: "free some space, or raise the quota of its owner",
    errno.EROFS: "mount its file system for writing, or name another place",
    errno.EACCES: "check its owner and permissions, and those of the directories above it",
    errno.EPERM: "check its owner, its attributes and what confines this account",
    errno.ENOTDIR: "a part of it is not a directory: correct the path",
    errno.EISDIR: "it is a directory: name a file",
    errno.ELOOP: "a link there leads nowhere, or is not followed: name the file itself",
    errno.ENAMETOOLONG: "it is longer than the file system takes: give a shorter path",
    errno.EMFILE: "close files, or raise the limit on open files",
    errno.ENFILE: "close files, or raise the limit on open files",
    errno.EIO: "look at the kernel's log: the device under it does not respond as it should",
}


def module_failure(error: Exception) -> dict[str, Any]:
    """The arguments of ``fail_json``: ``msg``, the facts of a GaudiError, and the traceback of a bug of ours."""
    if isinstance(error, GaudiError):
        return {"msg": lines_of(str(error), ""), **error.facts}
    if isinstance(error, OSError) and error.errno is not None:
        return {"msg": one_line(_refused_by_the_system(error))}
    text = (
        f"this is a bug of gaudi3.scale: {type(error).__name__} in {_place(error)}; "
        f"please report it at {ISSUES}, with the value of exception."
    )
    return {"msg": text, "exception": _traceback(error)}


def _refused_by_the_system(error: OSError) -> str:
    """The path is the one that the operation was given; one on an open file knows none."""
    path = error.filename if error.filename is not None else error.filename2
    where = "A file that this module writes" if path is None else os.fsdecode(path) if _is_path(path) else str(path)
    remedy = _REMEDIES.get(error.errno or 0, "check the path, its file system and its permissions")
    return f"{where}: {error.strerror or os.strerror(error.errno or 0)}; {remedy}."


def _is_path(path: object) -> bool:
    return isinstance(path, (str, bytes, os.PathLike))


def _place(error: Exception) -> str:
    """Where in this collection the error came up: the innermost line of ours."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _COLLECTION in frame.filename] or list(frames)
    if not ours:
        return "an unknown place"
    return f"{ours[-1].filename.rpartition(_COLLECTION)[2]}:{ours[-1].lineno}"


def _traceback(error: Exception) -> str:
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))
