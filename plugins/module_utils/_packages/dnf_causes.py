# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why dnf cannot put a transaction together: the ends of its chains of reasons, and the repository that has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .rpm_database import VENDOR
from .word_lists import listed

# dnf's words: a chain goes from what was asked for to what nobody has.
_END = re.compile(r"nothing provides (?P<what>.+?) needed by (?P<by>\S+)")
_ASKED = re.compile(
    r"(?:Unable to find a match|No match for arguments?): (?P<names>.+)$|No package (?P<name>\S+) available"
)
_MIDDLE = re.compile(r"requires (?P<what>[^,\n]+), but none of the providers can be installed")
_EXCLUDED = re.compile(r"package (?P<label>\S+)(?: from \S+)? is filtered out by (?P<how>exclude|modular) filtering")
_LABEL = re.compile(r"(?P<name>.+)-[^-]+-[^-]+")
_BUILDING = (
    "on RHEL 9 what others are built with is in AppStream or CRB (CodeReady Builder): enable both or their mirrors"
)
# Where RHEL 9 and its rebuilds have it, by its name; the first that fits counts.
_HOMES = (
    (r"dkms\b", "on RHEL 9 dkms is in EPEL, which wants CRB: enable both or their mirrors"),
    (
        r"kernel(-devel|-headers|-core|-modules|-uname-r|\()",
        "enable the repositories of this minor release (of RHEL those with EUS), or update the kernel first",
    ),
    (r".*-(devel|static)\b|pkgconfig\(", _BUILDING),
)
_REPOSITORY = "that is the repository's: synchronize the mirror, or correct release"
_ANYWHERE = (
    "on RHEL 9 what BaseOS lacks is in AppStream, CRB (CodeReady Builder) or EPEL: enable what the node lacks of them"
)


class Lacking(NamedTuple):
    """What no enabled repository has, and the package that needs it, empty for what was asked for itself."""

    what: str
    by: str


def lacking(text: str) -> list[Lacking]:
    """What dnf's answer ends at, each once; the middles of chains only where it names no end."""
    ends = [Lacking(found["what"], _name(found["by"])) for found in _END.finditer(text)]
    asked = [Lacking(name, "") for name in _asked(text)]
    middles = [] if ends or asked else [Lacking(found["what"], "") for found in _MIDDLE.finditer(text)]
    return list(dict.fromkeys([*ends, *asked, *middles[:1]]))


def _asked(text: str) -> Iterator[str]:
    for line in text.splitlines():
        for found in _ASKED.finditer(line):
            yield from (found["names"] or found["name"]).split()


def _name(label: str) -> str:
    found = _LABEL.fullmatch(label)
    return found["name"] if found else label


def explain_lacking(text: str) -> str:
    """One sentence for each repository that is missing; empty where dnf says of nothing that it is lacking."""
    groups: dict[str, list[Lacking]] = {}
    for one in lacking(text):
        groups.setdefault(_home(one), []).append(one)
    sentences = [_sentence(home, found) for home, found in groups.items()]
    sentences += [_excluded(found["label"], found["how"]) for found in _EXCLUDED.finditer(text)] if groups else []
    return (
        " ".join([sentences[0], *(sentence[:1].upper() + sentence[1:] for sentence in sentences[1:])])
        if sentences
        else ""
    )


def _home(one: Lacking) -> str:
    if one.what.startswith(VENDOR):
        return _REPOSITORY if one.by else ""
    found = next((home for pattern, home in _HOMES if re.match(pattern, one.what)), "")
    return found or (_ANYWHERE if one.by else "")


def _sentence(home: str, found: list[Lacking]) -> str:
    names, needed = listed([one.what for one in found]), listed([one.by for one in found if one.by])
    end = f" Needed by {needed}." if needed else ""
    return f"no repository of this node has {names}{f'; {home}' if home else ''}.{end}"


def _excluded(label: str, how: str) -> str:
    where = (
        "a module stream" if how == "modular" else "excludepkgs in /etc/dnf/dnf.conf or in a file of /etc/yum.repos.d"
    )
    return f"{label} is there, but hidden by {where}."
