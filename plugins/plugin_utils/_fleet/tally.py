# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a task came to on its hosts: counts, and what is equal on several hosts once; pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

UNREACHABLE, FAILED, STOPPED = "UNREACHABLE", "FAILED", "STOPPED"
# In the order in which they are read; the first two are of troubles.
COUNTED = (FAILED, UNREACHABLE, "ok", "changed", "skipped", "rescued", "ignored")


@dataclass(frozen=True)
class Trouble:
    """Why a host is out. ``alike`` is the reason without the host's own names, ``page`` what says more about it."""

    state: str
    reason: str
    alike: str
    page: str = ""

    @property
    def kind(self) -> tuple[str, str]:
        """Equal for hosts that have the same trouble."""
        return self.state, self.alike


@dataclass
class Tally:
    """One task while it runs. ``hosts``: on how many it does; 0 where that is not known.

    ``is_for_all``: where one host fails, the play ends for all of them.
    """

    name: str
    hosts: int = 0
    following: str = ""
    is_for_all: bool = False
    counts: dict[str, int] = field(default_factory=dict)
    items: int = 0
    retries: int = 0
    troubles: dict[tuple[str, str], list[tuple[str, Trouble]]] = field(default_factory=dict)
    messages: dict[str, list[str]] = field(default_factory=dict)
    diffs: dict[str, list[str]] = field(default_factory=dict)
    warnings: dict[str, list[str]] = field(default_factory=dict)
    is_headed: bool = False

    def count(self, what: str) -> None:
        """One host is through."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def trouble(self, host: str, trouble: Trouble) -> bool:
        """One host is out; whether it is the first of this kind."""
        self.count(trouble.state)
        alike = self.troubles.setdefault(trouble.kind, [])
        alike.append((host, trouble))
        return len(alike) == 1

    @property
    def through(self) -> int:
        """How many hosts have answered."""
        return sum(self.counts.values())

    @property
    def is_quiet(self) -> bool:
        """Whether nothing was to do on any host."""
        return set(self.counts) <= {"skipped"}

    def outcome(self) -> str:
        """The counts in one line."""
        parts = [f"{self.counts[what]} {what.lower()}" for what in COUNTED if what in self.counts]
        parts += [f"{self.items} items"] if self.items else []
        parts += [f"{self.retries} retries"] if self.retries else []
        return ", ".join(parts)

    def progress(self) -> str:
        """The same while it runs: how many are through, and whether anything changes."""
        changed = self.counts.get("changed", 0)
        parts = [f"{self.through} of {self.hosts}" if self.hosts else f"{self.through} hosts"]
        parts += [f"{changed} changed"] if changed else []
        parts += [f"{self.items} items"] if self.items else []
        parts += [f"{self.retries} retries"] if self.retries else []
        return ", ".join(parts)


def noted(said: dict[str, list[str]], texts: Iterable[str], host: str) -> None:
    """Put the host under each text that it said, once."""
    for text in texts:
        hosts = said.setdefault(text, [])
        if host not in hosts[-1:]:
            hosts.append(host)
