# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What NVRx's restart agent makes of a scripted failure: without a model, by its own rules, from one log of all ranks.

It is the log that its launcher writes (``fault_tolerance/per_cycle_logs.py`` of 0.7.0): each rank's lines behind its
number, those of the launchers without, as they came.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.scripted_failures.model import Case
from tests.scripted_failures.written import agent_output, deaths, pid_of

CLI = "nvidia_resiliency_ext.attribution.restart_agent.cli"
# An agent notices its first dead rank so long after it.
NOTICED_S = 0.15


@dataclass(frozen=True)
class Line:
    """``rank``: -1 for a launcher's own."""

    time: float
    rank: int
    text: str

    def as_written(self, width: int) -> str:
        return f"{self.rank:>{width}}: {self.text}" if self.rank >= 0 else self.text


def lines_of(case: Case) -> list[Line]:
    """The job's one log, in the order in which it was written."""
    ends = deaths(case)
    found = [
        Line(death.after, rank, text)
        for rank, death in sorted(ends.items())
        for text in [*death.stdout.splitlines(), *death.stderr.splitlines()]
    ]
    for number in range(case.nodes):
        own = range(number * case.per_node, (number + 1) * case.per_node)
        first = min(ends[rank].after for rank in own)
        found += [Line(first + NOTICED_S, -1, text) for text in agent_output(case, f"node{number + 1}").splitlines()]
    last = max(line.time for line in found)
    found += [Line(last, -1, text) for text in case.launcher.splitlines()]
    return sorted(found, key=lambda line: line.time)


def asked(case: Case, python: str) -> Line | None:
    """The line that it calls the primary failure."""
    lines = lines_of(case)
    width = len(str(case.nodes * case.per_node - 1))
    with tempfile.TemporaryDirectory() as place:
        log = Path(place, "job_cycle0.log")
        log.write_text("".join(f"{line.as_written(width)}\n" for line in lines), encoding="utf-8")
        argv = [python, "-m", CLI, "--disable-l1", str(log)]
        done = subprocess.run(argv, capture_output=True, text=True, check=True)
    primary = json.loads(done.stdout)["primary_failure"]
    return lines[primary["line"] - 1] if primary and primary["line"] else None


def is_right(case: Case, line: Line | None) -> tuple[bool, bool]:
    """Whether the line is of the right rank, or names it; and whether it also has the reason."""
    if line is None:
        return False, False
    rank = case.expected.rank
    if line.rank >= 0 or rank < 0:
        named = line.rank == rank
    else:
        named = f"(pid: {pid_of(rank)})" in line.text or bool(re.search(rf"\brank\s*: {rank}\b", line.text))
    return named, named and has_reason(case, line.text)


def has_reason(case: Case, text: str) -> bool:
    death = deaths(case).get(case.expected.rank)
    codes: Sequence[str] = [f"exitcode: {death.code}", f"exitcode  : {death.code}"] if death and death.code < 0 else []
    return case.expected.says[:40] in text or any(code in text for code in codes)
