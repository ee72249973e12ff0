# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The frame of a traceback that is in the user's own code: below it only libraries are, and nobody mends those."""

from __future__ import annotations

import re
from typing import Iterable, Match

FRAME = re.compile(r' *(?:> )?File "(?P<file>[^"]*)", line (?P<line>\d{1,9})(?P<function>, in (?P<name>.{1,200})?)?')
# rich's form, in its box; and faulthandler's, the innermost first.
BOXED = re.compile(r"│ (?P<file>\S.{0,1000}?):(?P<line>\d{1,9}) in (?P<name>\S{1,200}) +│$")
FAULT = re.compile(r'  File "(?P<file>[^"]{1,1000})", line (?P<line>\d{1,9}) in (?P<name>.{1,200})')
# Of the interpreter, of what is installed, and of what has no file.
_LIBRARY = re.compile(r"/(?:site|dist)-packages/|/lib(?:64)?/python\d(?:\.\d+)?/|^<|^$")


def is_users(file: str) -> bool:
    """Whether a file is the user's, and not one of a library or of the interpreter."""
    return not _LIBRARY.search(file)


def frame_text(frame: Match[str]) -> str:
    """``train.py, line 71, in main``; without the function where there is none."""
    place = f"{frame['file'].rpartition('/')[2]}, line {frame['line']}"
    return f"{place}, in {frame['name']}" if frame["name"] else place


def innermost(frames: Iterable[Match[str]]) -> str:
    """The last of ``frames`` that is in the user's code; "" where none is."""
    found = [frame_text(frame) for frame in frames if is_users(frame["file"])]
    return found[-1] if found else ""
