# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A bundle's manifest, read: every field is there, is of its type and on its white list, and there is no other.

A signature says who wrote it, not that the values can be in a file of apt, dnf or pip.
"""

from __future__ import annotations

import json
import re
import time
from typing import Callable, Mapping, Sequence

from .._errors import GaudiError
from .._node.urls import is_url
from .._packages.fingerprints import is_fingerprint
from .layout import PARTS
from .manifest import FORMAT, LICENSES, TIME_FORM, Entry, Manifest

LARGEST = 32 << 20
_MOST_FILES = 100_000
_LARGEST_FILE = 1 << 50
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z")
_RELEASE = re.compile(r"[0-9]+(?:\.[0-9]+)*-[0-9A-Za-z.]+")
_SHA256 = re.compile(r"[0-9a-f]{64}")
# Debian's and Python's file names; no name begins with a dot, so no path leaves the bundle.
_NAME = r"[A-Za-z0-9_][A-Za-z0-9_.+~:=@%!,-]*"
_PATH = re.compile(rf"{_NAME}(?:/{_NAME})*")
_PART = re.compile(rf"(?:{'|'.join(PARTS)})(?:-[A-Za-z0-9.+~-]+)?")
# One line for people, of printable ASCII.
_WORDS = re.compile(r"[ -~]*")
_LONGEST = 2000


class _UnfitError(ValueError):
    """Says which field is not as it must be."""


def parse(text: str, where: str) -> Manifest:
    """The manifest in ``text``; ``where`` is its path or URL, for the error sentence."""
    try:
        if len(text) > LARGEST:
            raise _UnfitError("it is too large")
        return _manifest(json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant))
    except (ValueError, RecursionError) as error:
        cause = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise GaudiError(
            f"{where} is not a bundle's manifest ({cause}); copy the bundle again, or build it.", file=where
        ) from error


def _manifest(data: object) -> Manifest:
    if not isinstance(data, dict):
        raise _UnfitError("it is not an object")
    if data.get("format") != FORMAT or isinstance(data["format"], bool):
        raise _UnfitError(f"its format is not {FORMAT}")
    _fields(data, ("format", *Manifest.__dataclass_fields__), "the manifest")
    files = [_entry(row) for row in _list(data["files"], "files", _MOST_FILES)]
    paths = {entry.path for entry in files}
    if len(paths) < len(files):
        raise _UnfitError("files lists a path twice")
    manifest = Manifest(
        created=_text(data["created"], "created", _is_time),
        expires=_text(data["expires"], "expires", _is_time),
        releases=[_text(row, "releases", _RELEASE.fullmatch) for row in _list(data["releases"], "releases", 100)],
        fingerprint=_text(data["fingerprint"], "fingerprint", is_fingerprint),
        packages_url=_text(data["packages_url"], "packages_url", is_url),
        keys={
            _text(path, "keys", paths.__contains__): _text(value, "keys", is_fingerprint)
            for path, value in _object(data["keys"], "keys").items()
        },
        parts={
            _text(name, "parts", _PART.fullmatch): [
                _text(path, "parts", paths.__contains__) for path in _list(rows, "parts", _MOST_FILES)
            ]
            for name, rows in _object(data["parts"], "parts").items()
        },
        files=files,
    )
    if not manifest.releases:
        raise _UnfitError("releases is empty")
    return manifest


def _entry(row: object) -> Entry:
    fields = _object(row, "files")
    _fields(fields, (*Entry.__dataclass_fields__, "license"), "an element of files")
    _text(fields["license"], "license", ("", *LICENSES.values()).__contains__)
    size = fields["size"]
    if not isinstance(size, int) or isinstance(size, bool) or not 0 <= size <= _LARGEST_FILE:
        raise _UnfitError(f"size is {_shown(size)}")
    return Entry(
        path=_text(fields["path"], "path", _PATH.fullmatch),
        size=size,
        sha256=_text(fields["sha256"], "sha256", _SHA256.fullmatch),
        source=_text(fields["source"], "source", _WORDS.fullmatch),
        vouched=_text(fields["vouched"], "vouched", _WORDS.fullmatch),
        part=_text(fields["part"], "part", ("", *PARTS).__contains__),
    )


def _is_time(text: str) -> bool:
    try:
        return bool(_TIME.fullmatch(text) and time.strptime(text, TIME_FORM))
    except ValueError:  # The 31st of February.
        return False


def _fields(data: Mapping[str, object], wanted: Sequence[str], what: str) -> None:
    wrong = sorted(set(data) ^ set(wanted))
    if wrong:
        verb = "has no" if wrong[0] in wanted else "has a field"
        raise _UnfitError(f"{what} {verb} {_shown(wrong[0])}")


def _text(value: object, field: str, fits: Callable[[str], object]) -> str:
    if not isinstance(value, str) or len(value) > _LONGEST or not fits(value):
        raise _UnfitError(f"{field} is {_shown(value)}")
    return value


def _list(value: object, field: str, most: int) -> list[object]:
    if not isinstance(value, list) or len(value) > most:
        raise _UnfitError(f"{field} is {_shown(value)}")
    return value


def _object(value: object, field: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise _UnfitError(f"{field} is {_shown(value)}")
    return value


def _shown(value: object) -> str:
    """A value in one line that is not too long; lists and objects by their type alone."""
    return repr(value)[:80] if isinstance(value, (str, bool, float, type(None))) else type(value).__name__


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """An object in which no name stands twice: readers differ in which of the two they take."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise _UnfitError("it repeats a name")
    return found


def _no_constant(name: str) -> object:
    raise _UnfitError(f"it has the number {name}")
