# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a server plays of the long run in the time that is left: first what was changed, then what waited longest."""

from __future__ import annotations

import random
import threading
from collections.abc import Collection, Sequence

from .gate import Gate
from .proved import Standing

# What a gate takes beside others varies by so much; one that was never played may take so much of its limit.
SLOWER, UNKNOWN = 1.4, 0.5
# What is drawn has to fit into what a server has left; longer ones have their turn otherwise.
MOST_DRAWN_S = 900.0


def ordered(standings: Sequence[Standing], seed: int) -> list[Standing]:
    """Those that fail the run unless it plays them come first.

    Next is one whose record says that it holds, drawn by ``seed``: a record that nobody looks at proves nothing. Then
    those that were changed under, the ones without a record before them, then those that waited longest.
    """
    overdue = [one for one in standings if one.is_overdue]
    recorded = [one for one in standings if not one.is_changed and expected_seconds(one) <= MOST_DRAWN_S]
    drawn = random.Random(seed).sample(recorded, min(1, len(recorded)))
    first = [*sorted(overdue, key=_urgency), *drawn]
    return [*first, *sorted((one for one in standings if one not in first), key=_urgency)]


def _urgency(one: Standing) -> tuple[bool, str]:
    return (not one.is_changed, one.proof.date if one.proof else "")


class Queue:
    """Gates to play while there is time; each lane takes its own, and one that needs no shared nodes is anybody's."""

    def __init__(self, standings: Sequence[Standing], shared_lane: str) -> None:
        self._waiting = list(standings)
        self._new = frozenset(one.gate.name for one in standings if one.proof is None)
        self._shared_lane = shared_lane
        self._lock = threading.Lock()

    @property
    def new(self) -> frozenset[str]:
        """Those that have no record."""
        return self._new

    def take(self, lane: str, seconds: float, playing: Collection[str] = ()) -> Gate | None:
        """The next one for ``lane`` that ends within ``seconds`` and is none of ``playing``, if there is any.

        ``playing`` names gates that another lane plays in their short form: both forms have the same nodes.
        """
        with self._lock:
            for one in self._waiting:
                on_shared = one.gate.lane == self._shared_lane
                fits = one.gate.name not in playing and expected_seconds(one) <= seconds
                if on_shared == (lane == self._shared_lane) and fits:
                    self._waiting.remove(one)
                    return one.gate
        return None


def expected_seconds(one: Standing) -> float:
    return one.proof.seconds * SLOWER if one.proof else one.gate.limit * UNKNOWN
