# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which ranks of this node have ended while others of it run: torchrun's agent says nothing of one that ended well."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Mapping

LOOK_S = 1.0
# The agent starts its ranks one after the other: so long after the first no more are looked for.
STARTED_S = 30.0
# The agent looks ten times a second, and ends the others at once where one has failed: it has ended well of which it
# has said nothing for so long.
SURE_S = 2.0


@dataclass(frozen=True)
class Gone:
    """``since``: when it was first seen that a rank has ended; ``ended_well``: that its exit status was 0 is sure."""

    since: float
    ended_well: bool


class RankExits:
    """``look`` is called until the agent says that a rank has failed, or the ranks are told to end."""

    def __init__(self, ranks: Callable[[], Mapping[int, int]], processes: int) -> None:
        """``ranks``: process by local rank, of those that run; it takes a while to find them. ``known``: of all that
        were seen.
        """
        self._ranks, self._processes = ranks, processes
        self.known: dict[int, int] = {}
        self._since: dict[int, float] = {}
        self._first: float | None = None
        self._all_known = False
        self._looked = 0.0

    def look(self, now: float) -> None:
        """See which ranks are there, where that was not seen just before."""
        if now - self._looked < LOOK_S:
            return
        self._looked = now
        if not self._all_known:
            self._find(now)
        still = {local: pid for local, pid in self.known.items() if local not in self._since}
        ended = [local for local, pid in still.items() if not Path(f"/proc/{pid}").exists()]
        if not ended:
            return
        # One that had waited may have been started anew, as another process.
        running = self._ranks()
        for local in ended:
            if local in running:
                self.known[local] = running[local]
            else:
                self._since[local] = now

    def _find(self, now: float) -> None:
        running = self._ranks()
        for local in running.keys() - self.known.keys():
            # It was started late.
            self._since.pop(local, None)
        self.known.update(running)
        if self._first is None:
            self._first = now if self.known else None
            return
        for local in set(range(self._processes)) - self.known.keys():
            self._since.setdefault(local, now)
        self._all_known = len(self.known) == self._processes or now - self._first > STARTED_S

    def gone(self, until: float, *, all_well: bool = False) -> dict[int, Gone]:
        """By local rank; ``until``: when the agent first said that one has failed, or ended. ``all_well``: it ended by
        itself, and said of none that it has failed.
        """
        return {local: Gone(since, all_well or until - since >= SURE_S) for local, since in self._since.items()}

    def ended_by(self, alive: Mapping[int, int], now: float) -> None:
        """``alive`` are the ranks that are told to end now: the others have ended by themselves."""
        for local in self.known:
            if local not in alive:
                self._since.setdefault(local, now)
