# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The ranks that torchrun's agent names as it ends.

A rank that is killed, or whose script does not use torch's ``@record``, leaves no error.json. What is always there is
the agent's own output (elastic/multiprocessing/api.py and errors/__init__.py of torch 2.13): a line at once when a rank
has failed, and a table of all ranks that did not end well when the agent has ended the others.
"""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass, field
from typing import Mapping, Match

# E1121 09:12:46.979000 15930 torch/.../api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 15965) of binary: ...
NOTICE = re.compile(
    r"(?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d{1,9}) .{0,300}\] "
    r"failed \(exitcode: (?P<code>-?[0-9]{1,9})\) local_rank: (?P<local>[0-9]{1,9}) \(pid: (?P<pid>[0-9]{1,9})\)"
)
ENTRY = re.compile(
    r"^ +time +: (?P<day>\d{4}-\d\d-\d\d)_(?P<clock>\d\d:\d\d:\d\d)\n"
    r" +host +: .*\n"
    r" +rank +: (?P<rank>[0-9]{1,9}) \(local_rank: (?P<local>[0-9]{1,9})\)\n"
    r" +exitcode +: (?P<code>-?[0-9]{1,9}) \(pid: (?P<pid>[0-9]{1,9})\).*\n"
    r" +error_file *: (?P<file>.*)\n",
    re.MULTILINE,
)
# W1121 09:12:46.946000 15930 torch/.../api.py:1028] Sending process 15962 closing signal SIGTERM
SIGNALED = re.compile(r"Sending process (?P<pid>[0-9]{1,9}) closing signal")
# The exit status of a rank that was told to end.
SIGTERM = -15
# Of a table whose times are whole seconds: what the others are later than the rank that the agent named at once.
_LATER_S = 0.001


@dataclass(frozen=True)
class AgentEntry:
    """One rank that the agent names. ``wrote_error``: it may have left an error file. ``pid`` 0: not known."""

    rank: int
    local_rank: int
    exit_code: int
    time: float
    wrote_error: bool
    pid: int = field(default=0, compare=False)


def agent_entries(agent_log: str) -> list[AgentEntry]:
    """The ranks in the last table of the agent's output, in no order of time."""
    _before, _marker, table = agent_log.rpartition(" FAILED\n")
    fractions = {
        (notice["local"], notice["clock"]): float(f"0.{notice['fraction']}") for notice in NOTICE.finditer(agent_log)
    }
    first = _first_seen(table, fractions)
    return [
        AgentEntry(
            rank=int(entry["rank"]),
            local_rank=int(entry["local"]),
            exit_code=int(entry["code"]),
            time=_time(entry, fractions, first),
            wrote_error=entry["file"] != "<N/A>",
            pid=int(entry["pid"]),
        )
        for entry in ENTRY.finditer(table)
    ]


def _first_seen(table: str, fractions: Mapping[tuple[str, str], float]) -> float:
    """When the agent saw that a rank had failed, to a fraction of a second; 0 where its table has only seconds."""
    known = [entry for entry in ENTRY.finditer(table) if (entry["local"], entry["clock"]) in fractions]
    return max((_time(entry, fractions, 0.0) for entry in known), default=0.0)


def _time(entry: Match[str], fractions: Mapping[tuple[str, str], float], first: float) -> float:
    """A rank that failed by itself, in the second in which the agent saw the first one, was not seen before it."""
    own = fractions.get((entry["local"], entry["clock"]))
    whole = _seconds(entry["day"], entry["clock"])
    if own is None and whole <= first < whole + 1 and int(entry["code"]) != SIGTERM:
        return first + _LATER_S
    return whole + (own or 0.0)


def noticed_entry(agent_log: str, first_rank: int, now: float) -> AgentEntry | None:
    """The rank that the agent named at once; for one that was ended before it could show its table."""
    notice = NOTICE.search(agent_log)
    if notice is None:
        return None
    local_rank = int(notice["local"])
    code, pid = int(notice["code"]), int(notice["pid"])
    return AgentEntry(first_rank + local_rank, local_rank, code, now, wrote_error=True, pid=pid)


def _seconds(day: str, clock: str) -> float:
    """The time of a line, 0 for a day or an hour that no calendar has: ranks write into that log, too."""
    try:
        return datetime.datetime.strptime(f"{day} {clock}", "%Y-%m-%d %H:%M:%S").timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def signaled(agent_log: str) -> set[int]:
    """The processes that the agent ended: those ranks were there when the first one had gone."""
    return {int(line["pid"]) for line in SIGNALED.finditer(agent_log)}
