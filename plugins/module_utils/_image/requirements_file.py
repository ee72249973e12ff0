# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The project's requirements file, as far as an image is made from it: lines of pip, and those that are refused."""

from __future__ import annotations

import re
from typing import Iterator

from .._errors import GaudiError
from .._node.secret_shapes import without_shapes
from .._venv.requirement import parse_requirement
from .._venv.wheel_bundle import normalized
from .replacing_wheels import why_not

# A comment of pip begins a line, or follows a blank.
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_HASHES = re.compile(r"\s+--hash=sha256:[0-9a-f]{64}")
_WHEEL = re.compile(r"(?:^|/)(?P<name>[A-Za-z0-9_.]+)-[^/]+\.(?:whl|tar\.gz|zip)(?:[#?].*)?$")
# What pip takes of a whole file and is meant for the packages alone.
_HARMLESS = ("--no-binary", "--only-binary", "--prefer-binary", "--require-hashes", "--pre")


def logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Number and content of each line that says something, with its continuations."""
    joined, first = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        first = first if joined else number
        whole = joined + _COMMENT.sub("", line).rstrip()
        if whole.endswith("\\"):
            joined = whole[:-1] + " "
            continue
        joined = ""
        if whole.strip():
            yield first, whole.strip()
    if joined.strip():
        yield first, joined.strip()


def check_requirements(text: str, file: str) -> list[str]:
    """The normalized names in the file. Raises :class:`GaudiError` for the first line that no image is made from."""
    return [_checked(line, f"{file} line {number}") for number, line in logical_lines(text)]


def _checked(line: str, where: str) -> str:
    if without_shapes(line) != line:
        raise GaudiError(
            f"{where} has a secret in it, which everybody who pulls the image could read; set "
            "index_url (gaudi_image_index_url), which stays out of the image.",
            option="requirements",
        )
    word = line.split()[0].partition("=")[0]
    if word.startswith("-"):
        if word in _HARMLESS:
            return ""
        raise GaudiError(_option_refusal(word, line, where), option="requirements")
    bare = _HASHES.sub("", line)
    requirement = parse_requirement(bare)
    wheel = _WHEEL.search(requirement.wanted if requirement else bare)
    if requirement is None and (wheel is None or "://" not in bare):
        raise GaudiError(
            f"{where} has {bare[:80]!r}, which names no package of an index; write 'name', 'name==1.2' or 'name @ "
            "URL'.",
            option="requirements",
        )
    names = [requirement.name] if requirement else []
    names += [normalized(wheel["name"])] if wheel else []
    for name in names:
        reason = why_not(name)
        if reason:
            raise GaudiError(f"{where} has {bare[:80]!r}: {name} {reason}.", option="requirements", package=name)
    return names[0]


def _option_refusal(word: str, line: str, where: str) -> str:
    if word in ("-r", "--requirement", "-c", "--constraint"):
        return f"{where} is {line[:80]!r}; put all requirements into one file."
    if word in ("-e", "--editable"):
        return f"{where} is {line[:80]!r}; code is copied last, so remove the line."
    if word in ("-i", "--index-url", "--extra-index-url", "-f", "--find-links", "--trusted-host", "--no-index"):
        return f"{where} is {line[:80]!r}; set index_url (gaudi_image_index_url) instead."
    return f"{where} has the option {word}, which no image is made with; remove it."
