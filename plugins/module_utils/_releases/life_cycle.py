# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a row of the table of life cycles is: until when something is kept up, who says so, and when that was read."""

from __future__ import annotations

import calendar
from dataclasses import dataclass
from datetime import date

from .known_holes import Hole

RELEASE, CARDS, KERNEL, SYSTEM = "release", "cards", "kernel", "operating system"
TORCH, ENGINE, CORE, LIBRARY = "PyTorch", "vLLM", "ansible-core", "library"
KINDS = (RELEASE, CARDS, KERNEL, SYSTEM, TORCH, ENGINE, CORE, LIBRARY)

SUPPORTED, UNKNOWN, FAULTY, ENDED = "supported", "unknown", "faulty", "ended"
# What a source says may have changed after half a year.
OLD_AFTER_DAYS = 180


@dataclass(frozen=True)
class LifeCycle:
    """``name`` of ``kind``: a version, or the start of one (``1.24``, ``6.17``, ``rhel-10``).

    ``until`` is the last day or month with fixes, as ``2026-11-30`` or ``2026-11``; empty: no source has a date.
    ``kept`` says whether it is kept up, and is None where no source tells. ``what`` is what the source says, in a
    clause. ``breaks`` is what does not work with it, ``holes`` are its known holes. ``read`` is the day on which
    ``source`` was read. ``unverified``: one weak source, or our own reading of it.
    """

    kind: str
    name: str
    what: str
    source: str
    read: str
    until: str = ""
    kept: bool | None = None
    breaks: str = ""
    holes: tuple[Hole, ...] = ()
    remedy: str = ""
    unverified: bool = False

    def state(self, today: date) -> str:
        """The worst that is known of it."""
        if self.kept is False or (self.until and today > last_day(self.until)):
            return ENDED
        if self.breaks or self.holes:
            return FAULTY
        return SUPPORTED if self.kept or self.until else UNKNOWN

    def age(self, today: date) -> int:
        """Days since the source was read; 0 where today's date is before that."""
        return max(0, (today - date.fromisoformat(self.read)).days)


def last_day(until: str) -> date:
    """Of a day itself; of a month its last."""
    year, month, *day = map(int, until.split("-"))
    return date(year, month, day[0] if day else calendar.monthrange(year, month)[1])
