# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a Chrome trace of torch.profiler says about a step: waits for data and ranks, moved bytes, computing, nothing.

On the CPU the operations are the work. Where the trace has rows of a card, the card's are, and the host's count for
nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Mapping

from .timelines import Timelines
from .trace_events import trace_events

_NAMES = ("data", "communication", "operation", "move", "card", "card move")
DATA, COMMUNICATION, OPERATION, MOVE, CARD, CARD_MOVE = _NAMES
_STEP = re.compile(r"ProfilerStep#\d+")
_DATA = re.compile(r"enumerate\(DataLoader\)")
_COMMUNICATION = re.compile(r"gloo:|nccl|hccl|c10d::|record_param_comms", re.IGNORECASE)
# What writes bytes elsewhere and computes nothing.
_MOVE = re.compile(r"aten::(copy_|_to_copy|clone|contiguous|cat|fill_|zero_|index_select|stack|repeat)$")
_CARD_MOVE = re.compile(r"memcpy|memset|dma", re.IGNORECASE)
_CARD_CATEGORIES = frozenset(("kernel", "gpu_memcpy", "gpu_memset", "hpu_op", "hpu_kernel"))
# Distinct names that are counted; those that come later are not.
_MOST_NAMES = 4096
_SHOWN = 5
_LONGEST = 1e9


@dataclass(frozen=True)
class TraceSummary:
    """Seconds of the traced steps together, each moment counted once: waiting for data, else for other ranks with
    nothing else at work, else moving bytes, else computing; ``gap`` is what remains. ``top`` has the longest names."""

    steps: int
    seconds: float
    data: float
    communication: float
    moved: float
    computed: float
    gap: float
    has_card: bool
    events: int
    top: tuple[tuple[str, float], ...] = ()
    top_moves: tuple[tuple[str, float], ...] = ()


def summary_of(data: Mapping[str, Any]) -> TraceSummary:
    """From plain values, as another node tells them. Raises KeyError, TypeError or ValueError for what is none."""
    seconds, waited, communication, moved, computed, gap = (
        _seconds(data[name]) for name in ("seconds", "data", "communication", "moved", "computed", "gap")
    )
    return TraceSummary(
        steps=min(max(0, int(data["steps"])), _MOST_NAMES),
        seconds=seconds,
        data=waited,
        communication=communication,
        moved=moved,
        computed=computed,
        gap=gap,
        has_card=bool(data["has_card"]),
        events=int(data["events"]),
        top=_pairs(data.get("top", ())),
        top_moves=_pairs(data.get("top_moves", ())),
    )


def _pairs(data: Any) -> tuple[tuple[str, float], ...]:
    return tuple((shown(str(pair[0])), _seconds(pair[1])) for pair in data[:_SHOWN])


def shown(name: str) -> str:
    """A name from a trace, on one line of a screen."""
    return "".join(letter if letter.isprintable() else "?" for letter in name[:100])


def _seconds(value: Any) -> float:
    seconds = float(value)
    if not 0 <= seconds < _LONGEST:
        raise ValueError(f"{seconds} is not a number of seconds")
    return seconds


def summarize(path: str) -> TraceSummary:
    """Raises GaudiError, which names the file, for what is no whole trace."""
    reading = _Reading()
    for event in trace_events(path):
        if event.get("ph") == "X":
            reading.take(event)
    return reading.summary()


class _Reading:
    def __init__(self) -> None:
        self._lines = Timelines(_NAMES)
        self._kinds: dict[tuple[str, str], tuple[str, ...]] = {}
        self._totals: dict[str, float] = {}
        self._steps: set[str] = set()
        self._events = 0
        self._step_start = self._start = float("inf")
        self._step_end = self._end = float("-inf")

    def take(self, event: dict[str, Any]) -> None:
        name, category = event.get("name"), event.get("cat", "")
        start, duration = event.get("ts"), event.get("dur")
        if not isinstance(name, str) or not isinstance(start, (int, float)) or not isinstance(duration, (int, float)):
            return
        self._events += 1
        end = start + duration
        kinds = self._kinds.get((name, category))
        if kinds is None:
            kinds = _kinds(name, str(category))
            if len(self._kinds) < _MOST_NAMES:
                self._kinds[name, category] = kinds
        if not kinds and _STEP.match(name):
            self._steps.add(name)
            self._step_start, self._step_end = min(self._step_start, start), max(self._step_end, end)
        for kind in kinds:
            self._lines.mark(kind, start, end)
        if kinds:
            self._start, self._end = min(self._start, start), max(self._end, end)
            if name in self._totals or len(self._totals) < _MOST_NAMES:
                self._totals[name] = self._totals.get(name, 0.0) + duration

    def summary(self) -> TraceSummary:
        start, end = (self._step_start, self._step_end) if self._steps else (self._start, self._end)
        seconds = max(0.0, (end - start) / 1e6) if end > start else 0.0

        def time(kind: str, *without: str) -> float:
            return self._lines.seconds(kind, without, start, end) if seconds else 0.0

        has_card = time(CARD) + time(CARD_MOVE) > 0
        work, move = (CARD, CARD_MOVE) if has_card else (OPERATION, MOVE)
        data = time(DATA, CARD, CARD_MOVE) if has_card else time(DATA)
        moved, computed = time(move, DATA), time(work, DATA, move)
        communication = time(COMMUNICATION, DATA, move, work)
        known = data + moved + computed + communication
        return TraceSummary(
            steps=len(self._steps),
            seconds=seconds,
            data=data,
            communication=communication,
            moved=moved,
            computed=computed,
            gap=max(0.0, seconds - known),
            has_card=has_card,
            events=self._events,
            top=self._longest(re.compile("")),
            top_moves=self._longest(_CARD_MOVE if has_card else _MOVE),
        )

    def _longest(self, wanted: re.Pattern[str]) -> tuple[tuple[str, float], ...]:
        longest = sorted(self._totals.items(), key=lambda pair: -pair[1])
        found = ((shown(name), spent / 1e6) for name, spent in longest if wanted.search(name))
        return tuple(pair for pair, _place in zip(found, range(_SHOWN)))


def _kinds(name: str, category: str) -> tuple[str, ...]:
    """The timelines that an event is marked on."""
    if _DATA.match(name):
        return (DATA,)
    if _STEP.match(name):
        return ()
    if category in _CARD_CATEGORIES:
        if _COMMUNICATION.search(name):
            return (COMMUNICATION,)
        return (CARD_MOVE,) if _CARD_MOVE.search(name) else (CARD,)
    if _COMMUNICATION.search(name):
        return (COMMUNICATION,)
    if category != "cpu_op" or not name.startswith("aten::"):
        return ()
    return (OPERATION, MOVE) if _MOVE.search(name) else (OPERATION,)
