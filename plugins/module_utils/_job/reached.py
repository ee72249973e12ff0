# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How far the ranks of a node have come: each tells its stages in a file beside the error file that torchrun gave it.

A rank that has told nothing still loads its libraries, or its agent waits for the other nodes' agents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._node.json_file import parse_object
from .._node.regular_file import read_end
from .rank_logs import attempt_directory

# Of a rank: its libraries are loaded; the ranks of all nodes have found each other; it works on what is measured.
STARTED, MET, MEASURING = "started", "met", "measuring"
STAGES = (STARTED, MET, MEASURING)
# From one of these on a rank runs, and its time is that of what is measured.
_RUNS = (MET, MEASURING)
NAME = "reached.jsonl"
_MOST_BYTES = 1 << 12
# Of a node; more than any has.
_MOST_RANKS = 4096


@dataclass(frozen=True)
class Reached:
    """How many of a node's ranks have ``started``, ``met`` the others and are ``measuring``. ``since``: when the last
    of all its ranks began to run, in seconds since 1970; None while one does not."""

    started: int = 0
    met: int = 0
    measuring: int = 0
    since: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return {STARTED: self.started, MET: self.met, MEASURING: self.measuring, "since": self.since}


def read_reached(ranks_directory: str, processes: object) -> Reached:
    """Of the ranks that were started last; ``processes``: how many this node has."""
    attempt = attempt_directory(ranks_directory)
    if attempt is None or not isinstance(processes, int) or not 0 < processes <= _MOST_RANKS:
        return Reached()
    told = [dict(_told(Path(attempt, str(local), NAME))) for local in range(processes)]
    runs = [min((one[stage] for stage in _RUNS if stage in one), default=None) for one in told]
    known = [time for time in runs if time is not None]
    started, met, measuring = (sum(stage in one for one in told) for stage in STAGES)
    return Reached(started, met, measuring, max(known) if len(known) == processes else None)


def _told(path: Path) -> Iterator[tuple[str, float]]:
    """Stage and time, of what a rank of ours would write; the file is the account's."""
    for line in (read_end(str(path), _MOST_BYTES) or "").splitlines():
        try:
            said = parse_object(line)
        except ValueError:
            continue
        stage, time = said.get("stage"), said.get("time")
        if stage in STAGES and isinstance(time, (int, float)) and not isinstance(time, bool):
            yield str(stage), float(time)
