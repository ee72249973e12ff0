# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Lines of another owner's file switched off in their place, so that the file itself says how they were.

A switched-off line stays as a comment that names who did it, and a line in its place follows a comment of its own. So
nothing has to be kept beside the file, and what its owner changes meanwhile is not lost when the lines come back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from .._node.rendered_files import FileChange, WantedFile, pending, read_text


@dataclass(frozen=True)
class Marks:
    """How the lines are marked; ``owner`` is the repository of ours that takes their place."""

    owner: str

    @property
    def was(self) -> str:
        """Before a line of the file's owner."""
        return f"# {self.owner}: "

    @property
    def instead(self) -> str:
        """Before a line of ours."""
        return f"# {self.owner} put here:"

    def put(self, line: str) -> list[str]:
        """``line`` as one of ours."""
        return [self.instead, line]

    def given_back(self, text: str) -> str:
        """The text as it would be without us."""
        lines: list[str] = []
        ours = False
        for line in text.split("\n"):
            if ours or line.rstrip() == self.instead:
                ours = not ours
                continue
            lines.append(line[len(self.was) :] if line.startswith(self.was) else line)
        return "\n".join(lines)


def changes(paths: Iterable[Path], edited: Callable[[Path, str], str]) -> list[FileChange]:
    """What ``edited`` makes of these files, each with the mode that it has; it is asked of nobody's but them."""
    wanted = []
    for path in paths:
        text = read_text(str(path)) or ""
        after = edited(path, text)
        if after != text:
            wanted.append(WantedFile(str(path), after, path.stat().st_mode & 0o7777))
    return pending(wanted)
