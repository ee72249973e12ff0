# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""When an engine's own output first names what failed: the lost rank or node, in a line about a failure."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Collection, Sequence
from pathlib import Path

# What engines, PyTorch, gloo and NVRx say of a rank or node that is no more. torchft counts "commit_failures: 0".
FAILURE = re.compile(
    r"fail(?!ures: 0)|kill|lost|not heard|closed|reset|refused|timed? ?out|exit ?code|exitcode|SIG[A-Z]{3}|dead"
    r"|unhealthy|gone|started again|ended",
    re.IGNORECASE,
)


def names_of(number: int, address: str, pids: Collection[int]) -> re.Pattern[str]:
    """How a line may name node ``number`` (from 1), which has one rank: by name, address, rank, or a process of it."""
    ours = (rf"node{number}", re.escape(address), rf"(?:global_)?rank:? ?{number - 1}", *map(str, sorted(pids)))
    # torchrun's rendezvous calls an agent HOST_PID_NUMBER.
    agents = "|".join(f"_{pid}_" for pid in sorted(pids))
    return re.compile(rf"(?<![\w.])(?:{'|'.join(ours)})(?!\w|\.\d)|{agents}")


class FirstError:
    """What is added to the logs from now on, read as it comes."""

    def __init__(self, logs: Sequence[Path], named: re.Pattern[str]) -> None:
        self._named = named
        self._read = {path: path.stat().st_size if path.exists() else 0 for path in logs}
        self._found = ""

    def look(self) -> str:
        """The first line in which it is named; nothing as long as there is none."""
        for path, offset in self._read.items():
            if self._found:
                break
            with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
                stream.seek(offset)
                whole = stream.read().rpartition(b"\n")[0]
                self._read[path] = offset + len(whole)
                lines = whole.decode(errors="replace").splitlines()
                self._found = next((line for line in lines if FAILURE.search(line) and self._named.search(line)), "")
        return self._found
