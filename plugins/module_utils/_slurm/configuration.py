# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a site's slurm.conf and gres.conf say, line by line, with the files that they include; nothing is changed.

Read as Slurm 22.05.8 was seen to read them: names in any case, quotes, comments, a backslash before a # or at the end
of a line, and an included file that is not absolute beside the one that includes it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .._errors import GaudiError
from .._node.rendered_files import read_text
from .host_lists import expand

# slurm.conf(5): files may include others, and how deep is for the reader to end.
_DEEPEST = 8
# Lines that describe one thing by several settings; in any other line each setting is one of its own.
_RECORDS = ("nodename", "nodeset", "partitionname", "downnodes", "frontendname", "name")
_SETTING = re.compile(r'\s*([A-Za-z0-9_.]+)\s*=\s*("[^"]*"|.*?)(?=\s+[A-Za-z0-9_.]+\s*=|\s*$)')
_INCLUDE = re.compile(r"\s*include\s+(\S+)", re.IGNORECASE)
_COMMENT = re.compile(r"(?<!\\)(?:\\\\)*#.*", re.DOTALL)
_CONTINUED = re.compile(r"(?<!\\)((?:\\\\)*)\\\s*$")
_DEFAULT = "default"


@dataclass(frozen=True)
class Line:
    """A setting and where it stands. ``name`` in small letters: slurm.conf(5) tells none apart.

    ``options`` are the further settings of a line that describes one thing, as ``NodeName=``.
    """

    name: str
    value: str
    file: str
    number: int
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"{self.file} line {self.number}"


@dataclass(frozen=True)
class NodeEntry:
    """``names`` of a ``NodeName=`` line, and its options with those that ``NodeName=DEFAULT`` above it gives."""

    names: tuple[str, ...]
    options: Mapping[str, str]
    line: Line


@dataclass(frozen=True)
class Configuration:
    """``lines`` of a file and of what it includes; ``includes``: the paths of those, whether or not they are there."""

    path: str
    lines: tuple[Line, ...]
    includes: tuple[str, ...]

    def named(self, name: str) -> list[Line]:
        return [line for line in self.lines if line.name == name.lower()]

    def takes(self, path: str) -> bool:
        """Whether ``path`` is included, by whichever name its directory has."""
        return _resolved(path) in map(_resolved, self.includes)

    def nodes(self) -> list[NodeEntry]:
        """The nodes; raises GaudiError, with file and line, for names that cannot be read."""
        defaults: dict[str, str] = {}
        found = []
        for line in self.named("NodeName"):
            if line.value.lower() == _DEFAULT:
                defaults.update(line.options)
            else:
                found.append(NodeEntry(tuple(_names(line)), {**defaults, **line.options}, line))
        return found


def read_configuration(path: str, ours: str) -> Configuration:
    """All lines but those of the file ``ours``."""
    lines, includes = list[Line](), list[str]()
    _read(path, ours, 0, lines, includes)
    return Configuration(path, tuple(lines), tuple(includes))


def _read(path: str, ours: str, depth: int, lines: list[Line], includes: list[str]) -> None:
    text = read_text(path) if depth < _DEEPEST else None
    for number, line in _logical_lines(text or ""):
        include = _INCLUDE.match(line)
        if include:
            cluster = next((one.value for one in lines if one.name == "clustername"), "")
            included = str(Path(path).parent / include[1].replace("%c", cluster))
            includes.append(included)
            if _resolved(included) != _resolved(ours):
                _read(included, ours, depth + 1, lines, includes)
        else:
            lines += _settings(line, path, number)


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Lines without comments, each with the number of its first one. A comment is not continued (seen with 22.05.8)."""
    found: list[tuple[int, str]] = []
    first, begun = 0, ""
    for number, raw in enumerate(text.splitlines(), start=1):
        line = _COMMENT.sub(lambda match: match[0].partition("#")[0], raw)
        first = first if begun else number
        joined, continued = _CONTINUED.subn(r"\1", line)
        begun += joined
        if continued:
            # Also an empty beginning is one.
            begun = begun or " "
            continue
        found.append((first, re.sub(r"\\(.)", r"\1", begun)))
        begun = ""
    return [*found, *([(first, begun)] if begun else [])]


def _settings(line: str, path: str, number: int) -> list[Line]:
    if not _SETTING.match(line):
        return []
    pairs = [(name.lower(), _plain(value)) for name, value in _SETTING.findall(line)]
    first, value = pairs[0]
    if first in _RECORDS:
        return [Line(first, value, path, number, dict(pairs[1:]))]
    return [Line(name, given, path, number) for name, given in pairs]


def _plain(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] == '"' else value


def _names(line: Line) -> list[str]:
    try:
        return expand(line.value)
    except GaudiError as error:
        raise GaudiError(
            f"NodeName={line.value} in {line.place}: {error}; write it there as `scontrol show hostnames` accepts it."
        ) from error


def _resolved(path: str) -> Path:
    """The directory may be a link, and our file is not there at first."""
    return Path(path).parent.resolve() / Path(path).name
