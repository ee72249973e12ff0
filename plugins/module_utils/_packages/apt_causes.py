# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why apt cannot put a transaction together: the ends of its chains of reasons, and what of the distribution lacks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from .._node.os_release import os_release
from . import apt_sources
from .word_lists import listed

# Under "The following packages have unmet dependencies:"; the package stands before the first of its reasons alone.
_FIRST = re.compile(r"^ (?P<package>\S+) : (?P<rest>\S.*)$")
_REASON = re.compile(
    r"(?P<relation>Depends|PreDepends|Breaks|Conflicts): (?P<name>\S+)(?: \((?P<versions>[^)]*)\))?(?: or .*)?"
    r" but (?P<why>.+)$"
)
_NOWHERE, _HIDDEN = "it is not installable", "it is not going to be installed"
_OTHER = re.compile(r"(?P<version>\S+) is (?:to be )?installed")
_UNKNOWN = re.compile(r"E(?:rror)?: (?:Unable to locate package (\S+)|Package '([^']+)' has no installation candidate)")
# Further than this nobody follows a chain, and neither does apt, which gives one link of it at a time.
_DEEPEST = 6
_COMPONENTS = {
    "ubuntu": ("main", "restricted", "universe", "multiverse"),
    "debian": ("main", "contrib", "non-free", "non-free-firmware"),
}


class Unmet(NamedTuple):
    """One reason of apt's: ``package`` needs or excludes ``name`` (in ``versions``), and ``why`` it cannot."""

    package: str
    relation: str
    name: str
    versions: str
    why: str

    @property
    def wanted(self) -> str:
        """What is needed or excluded, with the versions."""
        return f"{self.name} ({self.versions})" if self.versions else self.name

    @property
    def request(self) -> str:
        """How apt is asked for it."""
        return f"{self.name}={self.versions[2:]}" if self.versions.startswith("= ") else self.name


def unmet(text: str) -> Iterator[Unmet]:
    """apt's reasons in its order."""
    package = ""
    for line in text.splitlines():
        first = _FIRST.match(line)
        package = first["package"] if first else package
        found = _REASON.match(first["rest"] if first else line.strip())
        if package and found:
            yield Unmet(package, found["relation"], found["name"], found["versions"] or "", found["why"].strip())


def ends(text: str, ask: Callable[[str], str]) -> list[Unmet]:
    """The last links of all chains; ``ask`` is what apt says of one more package alone."""
    open_ones, seen = list(unmet(text)), set[str]()
    found: list[Unmet] = []
    for _depth in range(_DEEPEST):
        hidden = [one for one in open_ones if one.why == _HIDDEN and one.request not in seen]
        found += [one for one in open_ones if one not in hidden]
        open_ones = []
        for one in hidden:
            seen.add(one.request)
            open_ones += list(unmet(ask(one.request))) or [one._replace(why="")]
    known = [one for one in dict.fromkeys(found) if one.why != _HIDDEN]
    return [one for one in known if one.why] or known


def explain_unmet(text: str, ask: Callable[[str], str], root: str = "/") -> str:
    """Sentences for what apt lacks; empty where it says of nothing that it is lacking."""
    conflict = apt_sources.CONFLICT.search(text)
    if conflict:
        return _conflict(conflict, root)
    chains = ends(text, ask)
    unknown = [one or other for one, other in _UNKNOWN.findall(text)]
    nowhere = [one for one in chains if one.why == _NOWHERE]
    if unknown or nowhere:
        needed = listed(one.package for one in nowhere)
        by = f" Needed by {needed}." if needed else ""
        names = listed([*unknown, *(one.wanted for one in nowhere)])
        return f"no repository of this node has {names}{_not_read(root)}.{by}"
    return " ".join(dict.fromkeys(map(_sentence, chains[:3])))


def _conflict(found: re.Match[str], root: str) -> str:
    files = listed(apt_sources.files_of(Path(root, "etc/apt"), found["uri"], found["suite"]))
    where = f" (in {files})" if files else ""
    return (
        f"apt reads no source of this node while two entries of {found['uri']} {found['suite']}{where} differ in "
        f"{found['option']}; leave one of them."
    )


def _sentence(one: Unmet) -> str:
    other = _OTHER.match(one.why)
    if one.relation in ("Breaks", "Conflicts"):
        version = f" {other['version']}" if other else ""
        return f"{one.package} and {one.name}{version} exclude each other ({one.relation}: {one.wanted})."
    if other:
        return (
            f"{one.package} needs {one.wanted}, and {one.name} {other['version']} is what this node has or would get: "
            "its repositories are out of step with each other; enable the same suites (-updates, -security) for both, "
            "or have the mirror synchronized."
        )
    look = f"`apt-cache policy {one.name}` shows the versions that there are"
    look = look if one.versions else f"`apt-get -s install {one.name}` says why"
    return f"{one.package} needs {one.wanted}, which apt does not install; {look}."


def _not_read(root: str) -> str:
    """What the node does not read of its own distribution, where it reads some of that."""
    system = os_release(str(Path(root, "etc")))
    known = _COMPONENTS.get(system.get("ID", ""), ())
    suite = system.get("VERSION_CODENAME", "")
    read = apt_sources.components(Path(root, "etc/apt"), suite) & set(known) if suite else set()
    lacking = [name for name in known if name not in read]
    if not read or not lacking:
        return ""
    there = listed(name for name in known if name in read)
    return f"; of {suite} it reads {there} and not {listed(lacking)}: enable the one that has it, or its mirror"
