# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which rank failed first and why, from what torchrun left behind.

A rank that is killed, or whose script does not use torch's ``@record``, leaves no error.json. What is always there is
the agent's own output (elastic/multiprocessing/api.py and errors/__init__.py of torch 2.13): a line at once when a rank
has failed, and a table of all ranks when the agent has ended the others.
"""

from __future__ import annotations

import datetime
import re
import signal
from dataclasses import asdict, dataclass
from typing import Any, Iterable, Mapping, Sequence

from .._node.json_file import parse_json

# E1121 09:12:46.979000 15930 torch/.../api.py:1002] failed (exitcode: -9) local_rank: 1 (pid: 15965) of binary: ...
NOTICE = re.compile(
    r"(?P<clock>\d\d:\d\d:\d\d)\.(?P<fraction>\d+) .*\] "
    r"failed \(exitcode: (?P<code>-?[0-9]{1,9})\) local_rank: (?P<local>[0-9]{1,9}) "
)
ENTRY = re.compile(
    r"^ +time +: (?P<day>\d{4}-\d\d-\d\d)_(?P<clock>\d\d:\d\d:\d\d)\n"
    r" +host +: .*\n"
    r" +rank +: (?P<rank>[0-9]{1,9}) \(local_rank: (?P<local>[0-9]{1,9})\)\n"
    r" +exitcode +: (?P<code>-?[0-9]{1,9}) \(pid: [0-9]+\).*\n"
    r" +error_file *: (?P<file>.*)\n",
    re.MULTILINE,
)
# What torch puts before each line of a traceback once the ranks have joined.
PREFIX = re.compile(r"^\[rank\d+\]: ")
EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*)(?:: (.*))?", re.DOTALL)
# How a collective ends when another rank went away: the echo of an error whose cause is elsewhere.
LOST_PEER = (
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "remote process exited",
    "connection was likely closed",
    "the client socket has failed to connect",
    "the client socket has timed out",
)
# What libstdc++ prints where a backend's threads abort the process while Python ends it: a rank that raised then has
# SIGABRT's exit status (seen with gloo of torch 2.13).
ABORTED_AT_EXIT = "terminate called without an active exception"
# What begins a traceback. Its last line has the exception; those between are indented.
TRACEBACK = "Traceback (most recent call last):"
SIGTERM = -15
ENDED_BY_AGENT = 2
NO_MEMORY = "the kernel ended a process since the node has no memory left"
AGENT = -1
LOG_LINES = 15


@dataclass(frozen=True)
class RankFailure:
    """A rank that did not end well, or the agent itself (rank AGENT).

    ``time`` in seconds since 1970; ``exit_code`` negative for a signal; ``path`` of the whole log on the node. ``host``
    is the rank's where its log lies on another node; "": it is the log's.
    """

    rank: int
    local_rank: int
    exit_code: int
    time: float
    exception: str
    message: str
    lines: tuple[str, ...]
    path: str
    host: str = ""

    @property
    def echo(self) -> int:
        """How far it is from a cause: 0 is one, 1 lost a peer, ENDED_BY_AGENT."""
        if self.exit_code == SIGTERM and not self.exception:
            return ENDED_BY_AGENT
        text = "\n".join((self.message, *self.lines)).lower()
        return int(any(sign in text for sign in LOST_PEER))

    def as_dict(self) -> dict[str, object]:
        """As plain values, with ``echo``."""
        return {**asdict(self), "lines": list(self.lines), "echo": self.echo}


@dataclass(frozen=True)
class AgentEntry:
    """One rank that the agent names. ``wrote_error``: it may have left an error file."""

    rank: int
    local_rank: int
    exit_code: int
    time: float
    wrote_error: bool


def agent_entries(agent_log: str) -> list[AgentEntry]:
    """The ranks in the last table of the agent's output, in no order of time."""
    _before, _marker, table = agent_log.rpartition(" FAILED\n")
    fractions = {
        (notice["local"], notice["clock"]): float(f"0.{notice['fraction']}") for notice in NOTICE.finditer(agent_log)
    }
    return [
        AgentEntry(
            rank=int(entry["rank"]),
            local_rank=int(entry["local"]),
            exit_code=int(entry["code"]),
            time=_seconds(entry["day"], entry["clock"]) + fractions.get((entry["local"], entry["clock"]), 0.0),
            wrote_error=entry["file"] != "<N/A>",
        )
        for entry in ENTRY.finditer(table)
    ]


def noticed_entry(agent_log: str, first_rank: int, now: float) -> AgentEntry | None:
    """The rank that the agent named at once; for one that was ended before it could show its table."""
    notice = NOTICE.search(agent_log)
    if notice is None:
        return None
    local_rank = int(notice["local"])
    return AgentEntry(first_rank + local_rank, local_rank, int(notice["code"]), now, wrote_error=True)


def _seconds(day: str, clock: str) -> float:
    """The time of a line, 0 for a day or an hour that no calendar has: ranks write into that log, too."""
    try:
        return datetime.datetime.strptime(f"{day} {clock}", "%Y-%m-%d %H:%M:%S").timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def rank_failure(entry: AgentEntry, error_file: str | None, stderr: str, path: str) -> RankFailure:
    """``entry`` with its reason: from the text of its error file, else from the last lines of its stderr."""
    lines = _lines(stderr)
    recorded = None if error_file is None else _recorded(error_file)
    raised = uncaught(stderr)
    exception, message = _split(recorded or raised or (lines or [""])[-1].strip())
    if entry.exit_code < 0 and recorded is None:
        killed = f"killed by {_signal_name(-entry.exit_code)}"
        if not raised:
            exception, message = "", killed
        elif ABORTED_AT_EXIT not in lines:
            message = f"{message}; then {killed}"
    return RankFailure(
        rank=entry.rank,
        local_rank=entry.local_rank,
        exit_code=entry.exit_code,
        time=entry.time,
        exception=exception,
        message=message or f"exit status {entry.exit_code}",
        lines=tuple(lines[-LOG_LINES:]),
        path=path,
    )


def uncaught(stderr: str) -> str:
    """The exception that a rank has raised, where that is the last that it said; empty where it is not.

    Such a rank is about to end, and that can take a while: others may lose it, and end it, before its agent sees it.
    """
    lines = _lines(stderr)
    if ABORTED_AT_EXIT in lines:
        return "".join(lines[: lines.index(ABORTED_AT_EXIT)][-1:]).strip()
    unindented = [line for line in lines if not line.startswith(" ")]
    return unindented[-1] if unindented[-2:-1] == [TRACEBACK] and lines[-1] == unindented[-1] else ""


def _lines(stderr: str) -> list[str]:
    return [PREFIX.sub("", line) for line in stderr.splitlines() if line.strip()]


def agent_failure(exit_code: int, time: float, agent_log: str, path: str) -> RankFailure:
    """A node whose agent failed without a rank: torchrun is missing, refused its arguments, or found no other node."""
    return rank_failure(AgentEntry(AGENT, AGENT, exit_code, time, wrote_error=False), None, agent_log, path)


def lost_node(started: float, path: str) -> RankFailure:
    """A worker group that neither runs nor recorded its end."""
    message = "the node went down while the job ran, or the job never started; launch it again to go on"
    return RankFailure(AGENT, AGENT, 0, started, "", message, (), path)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _recorded(error_file: str) -> str | None:
    """``Type: text`` of an error.json, which has it one level deeper since torch's handler is the default one."""
    try:
        data = parse_json(error_file)
        message = data["message"]
        return str(message["message"] if isinstance(message, dict) else message)
    except (ValueError, KeyError, TypeError):
        return None


def _split(text: str) -> tuple[str, str]:
    """``ValueError: x`` is the exception ValueError with the message x; other text is a message."""
    match = EXCEPTION.fullmatch(text)
    return (match[1], match[2]) if match and match[2] is not None else ("", text)


def first_failure(failures: Iterable[RankFailure]) -> RankFailure | None:
    """The nearest to a cause; of several, the earliest."""
    return min(failures, key=lambda failure: (failure.echo, failure.time, failure.rank), default=None)


def failure_from(reported: object) -> dict[str, Any]:
    """A failure as plain values of whoever (see :meth:`RankFailure.as_dict`), each of its kind; empty: there is none.

    What else is told of it stays.
    """
    if not isinstance(reported, dict) or not reported:
        return {}
    texts = {name: str(reported.get(name) or "") for name in ("exception", "message", "path", "host")}
    counts = {name: _whole(reported.get(name), AGENT) for name in ("rank", "local_rank", "exit_code", "echo")}
    lines = reported.get("lines")
    shown = [str(line) for line in lines[-LOG_LINES:]] if isinstance(lines, (list, tuple)) else []
    return {**reported, **texts, **counts, "time": _number(reported.get("time")), "lines": shown}


def _whole(value: object, missing: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else missing


def first_failure_of(nodes: Mapping[str, Mapping[str, object]]) -> tuple[str, Mapping[str, object]] | None:
    """The node and its failure (see :meth:`RankFailure.as_dict`) that came first; None where no node has one."""
    found = [(host, failure) for host, failure in nodes.items() if failure]
    return min(found, key=lambda pair: (_number(pair[1]["echo"]), _number(pair[1]["time"])), default=None)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def failure_sentence(host: str, failure: Mapping[str, object]) -> str:
    """What to tell the operator: host, rank, exception, last lines, and where the whole log is."""
    lines = failure["lines"]
    shown = [f"  {line}" for line in lines] if isinstance(lines, Sequence) else []
    exception = f"{failure['exception']}: " if failure["exception"] else ""
    place = failure.get("host") or host
    who = f"rank {failure['rank']} on {place}" if _number(failure["rank"]) >= 0 else f"the agent on {place}"
    first = f"{who} failed first: {exception}{failure['message']}"
    return "\n".join([first, *shown, f"The whole log is {failure['path']} on {host}."])
