# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the lines that rank 0 of a job appends to its file have told so far: read on at each look, and not anew.

Between two checkpoints there may be more lines than anybody reads at once: those about 512 nodes have 300 kB a minute.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .._follow.json_lines import object_of
from .._node.regular_file import Place, read_on

# Of a file that was not read before: an hour and more of a job of 512 nodes.
_FIRST_BYTES = 1 << 24
# Of what came since the last look: a hundred times as much as such a job writes from one look to the next.
_MOST_BYTES = 1 << 22
# A line of a step or a checkpoint has some hundred bytes; those about the nodes need not be understood here.
_LONGEST_LINE = 1 << 16
# Of one look the last: honest lines are fewer, and short ones that an account fills its file with take a second.
_MOST_LINES = 50_000
# Over which the time between two lines is told; and how many have to be there before it says something.
_TOLD_STEPS = 20
_FEWEST_STEPS = 3


@dataclass(frozen=True)
class JobLines:
    """``start``, ``step`` and ``checkpoint`` are the last lines of their kind, empty where there is none.

    ``times`` are those of the last lines of steps. ``place``: how far the file was read.
    """

    step: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    times: tuple[float, ...] = ()
    place: Place | None = None
    start: Mapping[str, Any] = field(default_factory=dict)

    @property
    def step_interval(self) -> float | None:
        """Seconds from one line of a step to the next: what is usual, whatever one of them took."""
        seconds = [later - earlier for earlier, later in zip(self.times, self.times[1:])]
        return statistics.median(seconds) if len(self.times) >= _FEWEST_STEPS else None


def follow(path: str, before: JobLines) -> JobLines:
    """``before`` with what the file has got since; anew where it is another one, or became shorter."""
    try:
        new = read_on(path, before.place, _MOST_BYTES, _FIRST_BYTES)
    except OSError:
        return JobLines()
    known = before if new.goes_on else JobLines()
    start, step, checkpoint, times = known.start, known.step, known.checkpoint, list(known.times)
    for line in _objects(new.text):
        if line.get("kind") == "checkpoint":
            checkpoint = line
        elif line.get("kind") == "start":
            start = line
        elif line.get("kind") == "step":
            step = line
            times = _with_time(times, number(line.get("time")))
    return JobLines(step, checkpoint, tuple(times), new.place, start)


def _objects(text: bytes) -> Iterator[Mapping[str, Any]]:
    # The text ends with the end of a line, behind which there is one piece more.
    for line in text.rsplit(b"\n", _MOST_LINES + 1)[-_MOST_LINES - 1 :]:
        found = object_of(line) if len(line) <= _LONGEST_LINE else None
        if found is not None:
            yield found


def _with_time(times: list[float], time: float | None) -> list[float]:
    """A clock that was put back tells no distance: they begin anew."""
    if time is None:
        return times
    return [*times, time][-_TOLD_STEPS:] if not times or time >= times[-1] else [time]


def number(value: object) -> float | None:
    """As it may be drawn; None for what is none, or is not finite."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return None
    return float(value) if abs(value) < 1e18 and not math.isnan(value) else None
