# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""White lists for the words of a package repository's file, where a new line would be a setting of its own."""

from __future__ import annotations

import re
from typing import Iterable

from .._errors import GaudiError

_WORD = r"[A-Za-z0-9][A-Za-z0-9+._~-]*"
_PATTERNS = {
    "suite": (re.compile(rf"{_WORD}(?:/{_WORD})*"), "a name such as jammy, or a directory such as rhel/9/9.6"),
    "components": (re.compile(rf"{_WORD}(?:/{_WORD})*"), "names such as main"),
    "architectures": (re.compile(r"[a-z0-9][a-z0-9_-]*"), "names such as amd64"),
    "packages": (re.compile(_WORD), "names of packages"),
    "os_packages": (re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9+._~-]|\{kernel\})*"), "names of packages"),
    "kernels": (re.compile(_WORD), "kernel releases as `uname -r` prints them"),
}
_LONGEST = 200


def is_word(option: str, word: str) -> bool:
    """Whether ``word`` can be an element of that option."""
    return len(word) <= _LONGEST and _PATTERNS[option][0].fullmatch(word) is not None


def checked_words(option: str, words: Iterable[str]) -> tuple[str, ...]:
    """The words of a list option; raises :class:`GaudiError` for one that cannot be meant."""
    given = tuple(words)
    for word in given:
        if not is_word(option, word):
            raise GaudiError(f"{option} must have {_PATTERNS[option][1]}, not {word[:200]!r}.", option=option)
    return given
