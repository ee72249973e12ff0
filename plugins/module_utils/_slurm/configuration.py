# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a site's slurm.conf and gres.conf say, line by line, with the files that they include; nothing is changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .._node.rendered_files import read_text

PLACES = ("slurm", "slurm-llnl")
# slurm.conf(5): files may include others, and how deep is for the reader to end.
_DEEPEST = 8
_SETTING = re.compile(r"^\s*(\w+)\s*=\s*(.*?)\s*$")
_INCLUDE = re.compile(r"^\s*include\s+(\S+)", re.IGNORECASE)


@dataclass(frozen=True)
class Line:
    """A setting and where it stands. ``name`` in small letters: slurm.conf(5) tells none apart."""

    name: str
    value: str
    file: str
    number: int

    @property
    def place(self) -> str:
        return f"{self.file} line {self.number}"


@dataclass(frozen=True)
class Configuration:
    """``lines`` of a file and of what it includes; ``includes``: the paths of those, whether or not they are there."""

    path: str
    lines: tuple[Line, ...]
    includes: tuple[str, ...]

    def named(self, name: str) -> list[Line]:
        return [line for line in self.lines if line.name == name.lower()]


def find_directory(etc: str) -> str | None:
    """Where this host keeps slurm.conf; None where it has none: no Slurm, or the controller's configuration."""
    return next((str(Path(etc, place)) for place in PLACES if Path(etc, place, "slurm.conf").is_file()), None)


def read_configuration(path: str, ours: str) -> Configuration:
    """All lines but those of the file ``ours``."""
    lines, includes = list[Line](), list[str]()
    for found in _read(path, ours, 0):
        (lines if isinstance(found, Line) else includes).append(found)  # type: ignore[arg-type]
    return Configuration(path, tuple(lines), tuple(includes))


def _read(path: str, ours: str, depth: int) -> Iterator[Line | str]:
    text = read_text(path) if depth < _DEEPEST else None
    for number, raw in enumerate((text or "").splitlines(), start=1):
        line = raw.partition("#")[0]
        include = _INCLUDE.match(line)
        if include:
            included = str(Path(path).parent / include[1])
            yield included
            if included != ours:
                yield from _read(included, ours, depth + 1)
            continue
        setting = _SETTING.match(line)
        if setting:
            yield Line(setting[1].lower(), setting[2], path, number)
