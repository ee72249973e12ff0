# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""dnf's repositories (dnf.conf(5)), whoever wrote them: others of one base URL found, and switched off.

dnf takes a package from either of them. So a repository whose packages nobody checks would undo what ours checks, and
one whose key is lost stops every dnf.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from .._node.os_release import os_release
from .._node.rendered_files import FileChange, read_text
from .apt_sources import plain_uri
from .switched_off import Marks, changes

# Where dnf looks (reposdir).
_PLACES = ("yum.repos.d", "yum/repos.d", "distro.repos.d")
# subscription-manager writes it anew, from what the site's server says.
_ANOTHERS = "redhat.repo"
_SECTION = re.compile(r"\[(?P<name>[^\]]+)\]\s*$")
_OPTION = re.compile(r"(?P<name>[A-Za-z0-9_]+)\s*[=:](?P<value>.*)")
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_NO = ("0", "no", "false", "off")


@dataclass(frozen=True)
class Wanted:
    """The one repository that is to be, its file, and what the variables of others may stand for."""

    sources_path: str
    uri: str
    variables: Mapping[str, Sequence[str]]

    def is_meant(self, url: str) -> bool:
        """Whether the URL, with variables or without, is that of the repository."""
        names = [name for name in dict.fromkeys(_VARIABLE.findall(url)) if name in self.variables]
        texts = (_filled(url, dict(zip(names, values))) for values in product(*map(self.variables.__getitem__, names)))
        return any(plain_uri(text) == plain_uri(self.uri) for text in texts)


def _filled(url: str, variables: Mapping[str, str]) -> str:
    return _VARIABLE.sub(lambda found: variables.get(found[1], found[0]), url)


def variables_of(etc: Path) -> dict[str, list[str]]:
    """What dnf's variables are on this node; $releasever is the major release, or the minor one where that is set."""
    version = os_release(str(etc)).get("VERSION_ID", "")
    major, _dot, minor = version.partition(".")
    found = {
        "basearch": [platform.machine()],
        "arch": [platform.machine()],
        "releasever": [major, version],
        "releasever_major": [major],
        "releasever_minor": [minor],
    }
    for path in [file for place in ("yum/vars", "dnf/vars") for file in sorted((etc / place).glob("*"))]:
        if path.is_file():
            found[path.name] = [(read_text(str(path)) or "").strip()]
    return found


def switched_off(sources_path: str, uri: str) -> list[FileChange]:
    """Have the repository of ``sources_path`` be the only one with this base URL; see :mod:`.apt_sources`."""
    etc = Path(sources_path).parents[1]
    wanted = Wanted(sources_path, uri, variables_of(etc))
    marks = Marks(Path(sources_path).stem)
    return changes(_others(sources_path), lambda _path, text: edited(marks.given_back(text), wanted, marks))


def given_back(sources_path: str) -> list[FileChange]:
    """Undo :func:`switched_off`, for a repository of ours that goes."""
    marks = Marks(Path(sources_path).stem)
    return changes(_others(sources_path), lambda _path, text: marks.given_back(text))


def _others(sources_path: str) -> list[Path]:
    etc = Path(sources_path).parents[1]
    found = [path for place in _PLACES for path in sorted((etc / place).glob("*.repo"))]
    return [path for path in found if path.is_file() and path != Path(sources_path) and path.name != _ANOTHERS]


def edited(text: str, wanted: Wanted, marks: Marks) -> str:
    """The text of a .repo file with the repositories of ``wanted`` disabled; all other lines are as they were."""
    return "\n".join(line for section in _sections(text) for line in _edited(section, wanted, marks))


def _sections(text: str) -> Iterator[list[str]]:
    section: list[str] = []
    for line in text.split("\n"):
        if _SECTION.match(line) and section:
            yield section
            section = []
        section.append(line)
    yield section


def _edited(section: Sequence[str], wanted: Wanted, marks: Marks) -> list[str]:
    if not _SECTION.match(section[0]):
        return list(section)
    values: dict[str, str] = {}
    name = ""
    for line in section[1:]:
        found = _OPTION.match(line)
        if found:
            name = found["name"].lower()
            values[name] = found["value"].strip()
        elif line[:1] in (" ", "\t") and name:
            values[name] += f" {line.strip()}"
    urls = values.get("baseurl", "").replace(",", " ").split()
    if values.get("enabled", "1").lower() in _NO or not any(map(wanted.is_meant, urls)):
        return list(section)
    switches = [line for line in section[1:] if (found := _OPTION.match(line)) and found["name"].lower() == "enabled"]
    rest = [f"{marks.was}{line}" if line in switches else line for line in section[1:]]
    return [section[0], *marks.put("enabled=0"), *rest]
