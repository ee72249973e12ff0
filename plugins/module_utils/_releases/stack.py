# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is known of the life of the software and cards of one node: the table's rows for it, as sentences. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

from .engine_versions import TESTED
from .life_cycle import (
    CARDS,
    CORE,
    ENDED,
    ENGINE,
    FAULTY,
    KERNEL,
    LIBRARY,
    OLD_AFTER_DAYS,
    RELEASE,
    SYSTEM,
    TORCH,
    UNKNOWN,
    LifeCycle,
)
from .life_cycle_rows import LIFE_CYCLES
from .lookup import version_key
from .row import Release

# How a kind and a name make a subject.
_SUBJECTS = {RELEASE: "release {}", CARDS: "the generation {}", KERNEL: "kernel {}", SYSTEM: "{}", LIBRARY: "{}"}
# A module that no ansible-core has called says 0.0.
_NO_CORE = "0.0"


@dataclass(frozen=True)
class Stack:
    """Of what a node has or shall have, what is known; empty is not asked about. ``libraries`` are distributions."""

    release: str = ""
    generations: Sequence[str] = ()
    os: str = ""
    kernels: Sequence[str] = ()
    pytorch: str = ""
    engine: str = ""
    ansible_core: str = ""
    libraries: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Told:
    """One part of a stack with its row; None: the table has none. ``state`` is of the day that was asked about."""

    kind: str
    name: str
    state: str
    row: LifeCycle | None

    @property
    def subject(self) -> str:
        return _SUBJECTS.get(self.kind, f"{self.kind} {{}}").format(self.name)

    @property
    def is_bad(self) -> bool:
        return self.state in (ENDED, FAULTY)

    def sentence(self, today: date) -> str:
        """What to tell somebody, with the source, its day, and its age where that is much."""
        if self.row is None:
            return f"Nothing is known about until when {self.subject} is supported."
        if not self.is_bad:
            return f"{_capital(self.subject)}: {self.row.what} ({_words(self.row, today)})."
        remedy = f"; {self.row.remedy}" if self.row.remedy else ""
        return f"{_capital(self.subject)} {'; it '.join(_faults(self.row, self.state, today))}{remedy}."

    def as_dict(self, today: date) -> dict[str, object]:
        """As a module returns it."""
        row = self.row
        return {
            "kind": self.kind,
            "name": self.name,
            "state": self.state,
            "until": row.until if row else "",
            "holes": [hole.name for hole in row.holes] if row else [],
            "source": row.source if row else "",
            "read": row.read if row else "",
            "unverified": row.unverified if row else True,
            "sentence": self.sentence(today),
        }


def planned_stack(release: Release, os: str, kernels: Sequence[str], generations: Sequence[str]) -> Stack:
    """That of a node with ``release``, and with the newest vLLM that was tested with it."""
    engines = [version for version, releases in TESTED.items() if release.version in releases]
    return Stack(
        release=release.version,
        generations=generations,
        os=os,
        kernels=kernels,
        pytorch="" if "pytorch" in release.inferred else release.pytorch,
        engine=max(engines, key=version_key, default=""),
    )


def life_cycles_of(stack: Stack, today: date, rows: Sequence[LifeCycle] = LIFE_CYCLES) -> list[Told]:
    """One entry for each part of the stack that is named; of libraries only those of which the table has a row."""
    core = "" if stack.ansible_core == _NO_CORE else stack.ansible_core
    parts = [
        (RELEASE, stack.release),
        *((CARDS, name) for name in stack.generations),
        (SYSTEM, stack.os),
        *((KERNEL, name) for name in dict.fromkeys(stack.kernels)),
        (TORCH, stack.pytorch),
        (ENGINE, stack.engine),
        (CORE, core),
    ]
    told = [_told(kind, name, today, rows) for kind, name in parts if name]
    libraries = [_told(LIBRARY, name, today, rows) for name in sorted(stack.libraries)]
    return [*told, *(one for one in libraries if one.row is not None)]


def age_sentence(told: Sequence[Told], today: date) -> str:
    """Where the oldest of the rows that were used is old, that it is; else empty."""
    rows = [one.row for one in told if one.row is not None]
    oldest = max(rows, key=lambda row: row.age(today), default=None)
    if oldest is None or oldest.age(today) <= OLD_AFTER_DAYS:
        return ""
    return (
        f"What is said about life cycles was read up to {oldest.age(today)} days ago ({oldest.kind} {oldest.name}: "
        f"{oldest.read}) and may be outdated: use a newer version of the collection, or ask the sources."
    )


def _told(kind: str, name: str, today: date, rows: Sequence[LifeCycle]) -> Told:
    row = find_row(kind, name, rows)
    return Told(kind, name, row.state(today) if row else UNKNOWN, row)


def find_row(kind: str, name: str, rows: Sequence[LifeCycle] = LIFE_CYCLES) -> LifeCycle | None:
    """The row whose name is all of it or most of its beginning: ``6.8`` for ``6.8.0-45-generic``."""
    found = [row for row in rows if row.kind == kind and _begins(name, row.name)]
    return max(found, key=lambda row: len(row.name), default=None)


def _begins(name: str, start: str) -> bool:
    return name == start or name.startswith((f"{start}.", f"{start}-", f"{start}+"))


def _faults(row: LifeCycle, state: str, today: date) -> Iterable[str]:
    """Clauses about it, each with its source."""
    if state == ENDED:
        since = f"has had no fixes since {row.until}" if row.until else "is no longer supported"
        yield f"{since} ({row.what}; {_words(row, today)})"
    if row.breaks:
        yield f"does not work: {row.breaks} ({_words(row, today)})"
    for hole in row.holes:
        yield f"has {hole.name}: {hole.what} ({source_words(hole.source, hole.read, today)})"


def _words(row: LifeCycle, today: date) -> str:
    return source_words(row.source, row.read, today) + (", UNVERIFIED" if row.unverified else "")


def source_words(source: str, read: str, today: date) -> str:
    """With the day on which it was read, and how long ago that is where it may have changed since."""
    age = (today - date.fromisoformat(read)).days
    return f"{source}, read on {read}" + (f", {age} days ago" if age > OLD_AFTER_DAYS else "")


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith(("release", "kernel", "the ")) else text
