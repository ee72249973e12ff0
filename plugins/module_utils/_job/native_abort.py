# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a process printed as it ended by a signal that native code in it had raised: abort(3), a fault."""

from __future__ import annotations

import re
from typing import Match, Sequence

from .error_table import beginning_at
from .frames import FAULT, frame_text, is_users
from .log_lines import LogLine
from .tracebacks import FATAL, Raised

# libstdc++ (vterminate.cc).
_THROWN = re.compile(r"terminate called after throwing an instance of '(?P<type>[^']{1,300})'$")
_WHAT = re.compile(r" *what\(\): *(?P<message>.*)")
# glibc (malloc, assert, stack protector), glog and abseil, and the handler of the vendor's driver library.
_SAID = re.compile(
    r"(?:free|malloc|realloc|calloc|munmap_chunk|sysmalloc)\(\): |malloc_consolidate\(\): |double free or corruption "
    r"|corrupted (?:size|double-linked)|\*\*\* [^*]{1,200} \*\*\*: |F\d{4} \d\d:\d\d:\d\d|F\d{8} \d\d:\d\d:\d\d"
    r"|Internal Error: Received signal"
)
_ASSERTION = re.compile(r"Assertion [`'].{0,1000}' failed\.$")
# Of the thread that the signal came in; the stacks of others may stand before it.
_CURRENT = "Current thread "


def abort_reason(lines: Sequence[LogLine]) -> Raised | None:
    """The C++ exception that nobody caught, or else what the library said that aborted; None where none said a word."""
    said = None
    for number, line in enumerate(lines):
        thrown = _THROWN.match(line.text)
        if thrown:
            what = _WHAT.fullmatch(lines[number + 1].text) if number + 1 < len(lines) else None
            return Raised(thrown["type"], what["message"].strip() if what else "")
        if _SAID.match(line.text) or _ASSERTION.search(line.text):
            said = Raised("", line.text.strip())
        elif said is None:
            known = beginning_at(line.text)
            said = Raised("", known) if known else None
    return said


def fatal_error(lines: Sequence[LogLine]) -> str:
    """Python's own word for a fatal error, "" where there is none."""
    return next((line.text for line in lines if line.text.startswith(FATAL)), "")


def where_it_was(lines: Sequence[LogLine]) -> str:
    """The innermost Python function of the thread that the signal came in, by faulthandler's account; "": unknown."""
    frames = _frames(lines)
    frame = frames[0] if frames else None
    return f"{frame['name']} ({frame['file'].rpartition('/')[2]}, line {frame['line']})" if frame else ""


def where_in_users_code(lines: Sequence[LogLine]) -> str:
    """The same of the user's own code."""
    return next((frame_text(frame) for frame in _frames(lines) if is_users(frame["file"])), "")


def _frames(lines: Sequence[LogLine]) -> list[Match[str]]:
    begin = next((number for number, line in enumerate(lines) if line.text.startswith(_CURRENT)), len(lines))
    found = []
    for line in lines[begin + 1 :]:
        frame = FAULT.fullmatch(line.text)
        if frame is None:
            break
        found.append(frame)
    return found
