# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The lines of what a rank wrote, in a length that a person reads, and without what torch puts before some."""

from __future__ import annotations

import re
from dataclasses import dataclass

# What begins a traceback.
HEADER = "Traceback (most recent call last):"
# What torch puts before each line of an uncaught exception once the ranks have joined.
PREFIX = re.compile(r"\[rank\d{1,9}\]: ")
_LONGEST_PREFIX = len("[rank123456789]: ")
MOST_LINE = 2000


@dataclass(frozen=True)
class LogLine:
    """A line without torch's prefix; ``of_rank``: it had one."""

    text: str
    of_rank: bool

    @property
    def is_indented(self) -> bool:
        return self.text.startswith((" ", "\t"))


def log_lines(text: str) -> list[LogLine]:
    """The lines that are not empty; of one that is very long the middle is left out."""
    found = []
    for line in text.splitlines():
        if not line.strip():
            continue
        prefix = PREFIX.match(line)
        if prefix is None and line.endswith(HEADER):
            # A progress bar that stands before it has no end of its line.
            prefix = PREFIX.search(line, max(0, len(line) - len(HEADER) - _LONGEST_PREFIX))
        found.append(LogLine(cut_middle(line[prefix.end() :] if prefix else line, MOST_LINE), prefix is not None))
    return found


def cut_middle(text: str, most: int) -> str:
    """``text`` in at most ``most`` characters: its beginning says what it is, its end often why."""
    if len(text) <= most:
        return text
    end = most // 4
    return f"{text[: most - end - 3]} … {text[len(text) - end :]}"
