# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The code of an image: a directory as a list of its files, its digest, and its copy in the build's context.

What of a checkout differs from machine to machine is not in the copy: times, owners, and modes but for "may be run".
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Iterator, Sequence

from .._errors import GaudiError
from .._node.digests import file_digest

# What is data and no code would be read at each build, and be in each image.
MOST_MIB = 1024
_MIB = 1 << 20
# What an interpreter takes for the vendor's package before it looks where that is.
_SHADOWS = ("torch", "torch.py", "habana_frameworks")


@dataclass(frozen=True)
class CodeFile:
    """``path`` is relative; ``link`` is where a link leads, empty for a file; ``mode`` is 0o644 or 0o755."""

    path: str
    link: str = ""
    mode: int = 0o644
    size: int = 0


def code_files(code: str, excluded: Sequence[str]) -> list[CodeFile]:
    """What is copied, sorted by path. Raises :class:`GaudiError` for what no code of an image is."""
    root = Path(code)
    if not root.is_dir():
        raise GaudiError(
            f"code (gaudi_image_code) is {code}, and this host has no such directory; check the code out there.",
            option="code",
        )
    files = sorted(_walk(root, "", excluded), key=lambda file: file.path)
    if not files:
        raise GaudiError(f"code (gaudi_image_code) is {code}, which has no file to copy; check it out.", option="code")
    mib = sum(file.size for file in files) / _MIB
    if mib > MOST_MIB:
        largest = max(files, key=lambda file: file.size)
        raise GaudiError(
            f"The code in {code} has {mib:.0f} MiB, most of it in {largest.path}; keep data out of images: name it in "
            f"excluded (gaudi_image_excluded), up to {MOST_MIB} MiB are copied.",
            option="code",
        )
    shadows = sorted({file.path.split("/")[0] for file in files} & {*_SHADOWS})
    if shadows:
        raise GaudiError(
            f"The code in {code} has {shadows[0]}, which Python would import instead of the vendor's; rename it, or "
            "name it in excluded (gaudi_image_excluded).",
            option="code",
        )
    return files


def _walk(root: Path, below: str, excluded: Sequence[str]) -> Iterator[CodeFile]:
    for entry in sorted(os.scandir(root / below), key=lambda found: found.name):
        path = f"{below}/{entry.name}".lstrip("/")
        if any(fnmatchcase(entry.name, pattern) or fnmatchcase(path, pattern) for pattern in excluded):
            continue
        found = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(found.st_mode):
            yield CodeFile(path, _inner_link(root, path))
        elif stat.S_ISDIR(found.st_mode):
            yield from _walk(root, path, excluded)
        elif stat.S_ISREG(found.st_mode):
            yield CodeFile(path, "", 0o755 if found.st_mode & 0o100 else 0o644, found.st_size)
        else:
            raise GaudiError(
                f"{root / path} is neither a file nor a directory; remove it, or name it in excluded "
                "(gaudi_image_excluded).",
                option="code",
            )


def _inner_link(root: Path, path: str) -> str:
    target = str((root / path).readlink())
    leads = os.path.normpath(Path(path).parent / target)
    if target.startswith("/") or leads.startswith(".."):
        raise GaudiError(
            f"{root / path} is a link to {target}, which is not in the image; replace it by what it leads to, or name "
            "it in excluded (gaudi_image_excluded).",
            option="code",
        )
    return target


def code_digest(code: str, files: Sequence[CodeFile]) -> str:
    """One SHA-256 over names, modes and contents."""
    total = hashlib.sha256()
    for file in files:
        content = file.link or file_digest(Path(code, file.path), "sha256")
        total.update(
            f"{file.mode:o} {'link' if file.link else 'file'} {content} {file.path}\0".encode(errors="replace")
        )
    return total.hexdigest()


def copy_code(code: str, files: Sequence[CodeFile], target: Path) -> None:
    """Copy them below ``target``, which is emptied before."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for file in files:
        place = target / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.link:
            place.symlink_to(file.link)
            continue
        descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, file.mode)
        with os.fdopen(descriptor, "wb") as written, Path(code, file.path).open("rb") as source:
            shutil.copyfileobj(source, written)


def program_refusal(command: Sequence[str], files: Sequence[CodeFile]) -> str:
    """The sentence about a program of the command that the code does not have; empty where it has."""
    names = {file.path for file in files}
    for word in command:
        if word.endswith((".py", ".sh")) and not word.startswith(("/", "-")):
            plain = os.path.normpath(word)
            if plain not in names:
                return (
                    f"command (gaudi_image_command) starts {word}, which the code does not have; correct it, or code "
                    "(gaudi_image_code)."
                )
    return ""
