# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Points on the way to a server, in files of the job: each is written at once, and marked once the server has it.

``DIRECTORY/ID.jsonl`` has the points of one run, in the order of time, ``ID.sent`` how many bytes of it the server has,
and ``ID.run`` what the run is called there. All three go when the server has all. Standard library only.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterator, Mapping

# Of a line: far above what a step has.
_MOST_LINE_BYTES = 1 << 20
# The last line of a run.
END = "end"


class Writer:
    """One run's points; ``append`` writes to the page cache and waits for nobody."""

    def __init__(self, directory: Path, name: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / f"{name}.jsonl"
        # Line by line: what is written survives the end of the process, whatever that is.
        self._stream = self.path.open("xb", buffering=0)
        fcntl.flock(self._stream, fcntl.LOCK_SH)

    def append(self, line: Mapping[str, Any]) -> None:
        """OSError where the disk is full."""
        text = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        if self._stream.write(text) != len(text):
            # A full disk takes a part. It has no end of a line, so nobody sends it, and no line follows.
            raise OSError("the disk is full")

    def close(self) -> None:
        self._stream.close()


@dataclass(frozen=True)
class Piece:
    """Whole lines that the server does not have, and the byte behind them."""

    lines: list[dict[str, Any]]
    end: int


class Reader:
    """What of a file of points the server has; kept beside it, so that another process goes on there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._sent = path.with_suffix(".sent")
        self._run = path.with_suffix(".run")

    @property
    def id(self) -> str:
        return self.path.stem

    def run(self) -> str:
        """What the run is called on the server; empty before it is there."""
        with contextlib.suppress(OSError):
            return self._run.read_text(encoding="ascii").strip()
        return ""

    def set_run(self, name: str) -> None:
        _replace(self._run, name)

    def piece(self, most: int) -> Piece:
        """The next lines, of all of them at most ``most`` values; none where the server has all that is whole."""
        start = self.sent()
        lines: list[dict[str, Any]] = []
        with self.path.open("rb") as stream:
            stream.seek(start)
            values = 0
            while (text := stream.readline(_MOST_LINE_BYTES)).endswith(b"\n"):
                line = json.loads(text)
                values += len(line.get("values", ()))
                if lines and values > most:
                    break
                lines.append(line)
                start += len(text)
        return Piece(lines, start)

    def sent(self) -> int:
        with contextlib.suppress(OSError, ValueError):
            return int(self._sent.read_text(encoding="ascii"))
        return 0

    def set_sent(self, end: int) -> None:
        _replace(self._sent, str(end))

    def unsent(self) -> int:
        """Points that the server is not known to have."""
        start = self.sent()
        with contextlib.suppress(OSError), self.path.open("rb") as stream:
            stream.seek(start)
            return sum(line.count(b'"values"') for line in stream)
        return 0

    def remove(self) -> None:
        """The server has it all. The points go first: what is left of a cut removal says nothing."""
        for path in (self.path, self._sent, self._run):
            path.unlink(missing_ok=True)


def earlier(directory: Path) -> list[Path]:
    """The files of points in a directory, the oldest first."""
    return sorted(directory.glob("*.jsonl"))


@contextlib.contextmanager
def nobody_writes(path: Path) -> Iterator[bool]:
    """Whether the run is over and no other process sends its points; nobody else sends them within."""
    try:
        stream = path.open("rb")
    except OSError:
        yield False
        return
    with stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield path.exists()


def json_number(value: float) -> float | str:
    """As JSON can hold it: what is no number by its name, which protobuf's JSON reads as well."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _replace(path: Path, text: str) -> None:
    written = path.with_name(f"{path.name}.{os.getpid()}")
    written.write_text(text, encoding="ascii")
    written.replace(path)
