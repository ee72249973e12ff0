# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What torchrun and its ranks left in their logs about ranks that did not end well."""

from __future__ import annotations

import contextlib
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Collection, Container, Mapping, Sequence

from .._node.regular_file import open_regular, read_end
from .agent_table import SIGTERM, AgentEntry, agent_entries, noticed_entry, signaled
from .failure import (
    SIGKILL,
    RankFailure,
    first_failure,
    left_early,
    rank_failure,
    thread_failure,
    told_by_agent,
    told_by_others,
)
from .followers import with_others
from .log_lines import HEADER, log_lines
from .reported_failure import ENDED_BY_AGENT
from .tracebacks import begins_before, uncaught

TAIL_BYTES = 1 << 16
# Of a traceback with all its frames.
LARGEST_ERROR = 1 << 20
# How far before a log's end the beginning of an exception is looked for that takes more than TAIL_BYTES, how much is
# read at a time, and what is taken from about it. Of exceptions that led to each other the last ones are looked for.
SEARCHED_BYTES = 1 << 24
PIECE_BYTES = 1 << 20
ABOUT_BYTES = 1 << 14
MOST_LINKS = 4
# What stands before the rank that torchrun calls the first, the last one of its table.
TABLE_END = "Root Cause (first observed failure):"
_LOCAL_RANK = re.compile(r"[0-9]{1,6}")


def tail(path: str) -> str | None:
    """The end of a regular file as text, or None where there is none."""
    return read_end(path, TAIL_BYTES)


def agent_words(path: str) -> str | None:
    """The end of an agent's log, and before it the last part of its table: the traceback that stands in that may be
    longer than any end that is read. None where there is no log.
    """
    text = tail(path)
    if text is None or TABLE_END in text:
        return text
    with contextlib.suppress(OSError), open_regular(path) as stream:
        end = max(0, os.fstat(stream.fileno()).st_size - TAIL_BYTES)
        place = _last_before(stream, end, TABLE_END.encode())
        if place is not None:
            stream.seek(max(0, place - ABOUT_BYTES))
            return stream.read(2 * ABOUT_BYTES).decode(errors="replace") + f"\n{text}"
    return text


def last_words(path: str) -> str:
    """The end of a rank's log, and before it the beginning of the exception that it ends with: the message of one may
    be longer than any end that is read. Empty where there is no log.
    """
    with contextlib.suppress(OSError), open_regular(path) as stream:
        begin = max(0, os.fstat(stream.fileno()).st_size - TAIL_BYTES)
        stream.seek(begin)
        text = stream.read(TAIL_BYTES).decode(errors="replace")
        for _link in range(MOST_LINKS):
            if not begin or not begins_before(log_lines(text)):
                break
            header = _last_before(stream, begin, HEADER.encode())
            if header is None:
                break
            begin = max(0, header - ABOUT_BYTES)
            stream.seek(begin)
            text = stream.read(2 * ABOUT_BYTES).decode(errors="replace") + f"\n{text}"
        return text
    return ""


def _last_before(stream: BinaryIO, end: int, sought: bytes) -> int | None:
    """Where ``sought`` was written last before the byte ``end``; None where it is not in the SEARCHED_BYTES there."""
    first = max(0, end - SEARCHED_BYTES)
    while end > first:
        begin = max(first, end - PIECE_BYTES)
        stream.seek(begin)
        # What is sought may begin in this piece and end in the next one.
        place = stream.read(end - begin + len(sought) - 1).rfind(sought)
        if place >= 0:
            return begin + place
        end = begin
    return None


def attempt_directory(ranks_directory: str) -> str | None:
    """Where the ranks log that were started last: torchrun adds a random part to the directory it is given."""
    found = {}
    for place in Path(ranks_directory).glob("*/attempt_*"):
        # A run that begins meanwhile may put it away.
        with contextlib.suppress(OSError):
            found[str(place)] = os.lstat(place).st_mtime
    return max(found, key=found.__getitem__, default=None)


def ranks_that_end(attempt: str, alive: Container[int]) -> bool:
    """Whether a rank of ``attempt`` has gone, or raised an exception, that its agent may not have seen yet."""
    return any(local not in alive or has_raised(attempt, local) for local in started_ranks(attempt))


def started_ranks(attempt: str) -> list[int]:
    """The ranks of ``attempt`` by their place on this node."""
    names = [place.parent.name for place in Path(attempt).glob("[0-9]*/stderr.log")]
    return sorted(int(name) for name in names if _LOCAL_RANK.fullmatch(name))


def has_raised(attempt: str, local_rank: int) -> bool:
    """Whether this rank ends, or has ended, by an exception."""
    return uncaught(log_lines(tail(f"{attempt}/{local_rank}/stderr.log") or ""), None) is not None


@dataclass(frozen=True)
class Exit:
    """A rank that was seen to have ended, at ``when`` in seconds since 1970, after ``step``; ``ended_well``: its exit
    status was 0 for sure."""

    when: float
    ended_well: bool
    step: int | None = None


def torchrun_failures(
    agent_log: str, attempt: str, first_rank: int = 0, gone: Mapping[int, Exit] | None = None
) -> list[RankFailure]:
    """The ranks of this node that did not end well, and those that ended well while others ran, the cause first.

    ``attempt`` is the directory of their logs. An agent that was ended before its table names one rank at most, whose
    number is counted from ``first_rank``. ``gone``, by local rank: what was seen of ranks that ended before any was
    told to; None where nobody looked.
    """
    table = agent_entries(agent_log)
    told, noticed = signaled(agent_log), noticed_entry(agent_log, first_rank, time.time())
    entries = table or list(filter(None, [noticed]))
    named = {entry.local_rank for entry in entries}
    failures = [_judged(_failure(entry, attempt), entry, told, noticed, attempt) for entry in entries]
    if gone is not None:
        unnamed = {local: one for local, one in gone.items() if local not in named}
        found = [_of_exit(attempt, first_rank + local, local, one, bool(table)) for local, one in unnamed.items()]
        failures += filter(None, found)
    elif table:
        failures += _left(table, told, attempt)
    cause = first_failure(failures)
    ordered = sorted(failures, key=lambda failure: failure is not cause)
    return [with_others(ordered[0], ordered[1:]), *ordered[1:]] if ordered else []


def _judged(
    failure: RankFailure, entry: AgentEntry, told: Container[int], noticed: AgentEntry | None, attempt: str
) -> RankFailure:
    """``failure`` by what its agent did: whom it has told to end was there when the first had failed."""
    if entry.pid in told and entry.exit_code == SIGKILL and not failure.exception:
        failure = told_by_agent(failure)
    elif failure.echo == ENDED_BY_AGENT and _is(noticed, entry) and entry.pid not in told:
        failure = told_by_others(failure)
    if failure.echo != ENDED_BY_AGENT:
        return failure
    return thread_failure(failure, tail(f"{attempt}/{entry.local_rank}/stderr.log") or "")


def _of_exit(attempt: str, rank: int, local_rank: int, one: Exit, is_complete: bool) -> RankFailure | None:
    """Of a rank that the agent has not named; ``is_complete``: it has named all that did not end well."""
    if one.ended_well or is_complete:
        return left_early(_quiet(attempt, rank, local_rank, one.when), one.step, seen=True)
    if has_raised(attempt, local_rank):
        return _failure(AgentEntry(rank, local_rank, 1, one.when, wrote_error=True), attempt)
    return None


def _is(noticed: AgentEntry | None, entry: AgentEntry) -> bool:
    return noticed is not None and (noticed.local_rank, noticed.pid) == (entry.local_rank, entry.pid)


def _failure(entry: AgentEntry, attempt: str) -> RankFailure:
    directory = f"{attempt}/{entry.local_rank}"
    path = _written(directory)
    # Where torch writes it, not where a log says so: ranks write into that log, too.
    error_file = read_end(f"{directory}/error.json", LARGEST_ERROR) if entry.wrote_error else None
    # Of a rank that was ended, and has no exception at its end, nothing is looked for far before it.
    said = (tail(path) or "") if entry.exit_code in (SIGTERM, SIGKILL) else last_words(path)
    failure = rank_failure(entry, error_file, said, path)
    # Some print their exception where their output goes.
    return failure if failure.exception or entry.exit_code != 1 else _of_output(failure, entry, directory)


def _of_output(failure: RankFailure, entry: AgentEntry, directory: str) -> RankFailure:
    path = f"{directory}/stdout.log"
    said = last_words(path)
    found = uncaught(log_lines(said), entry.exit_code) if said else None
    return failure if found is None else rank_failure(entry, None, said, path)


def _written(directory: str) -> str:
    """The log of a rank's errors; of one that wrote none, that of its output."""
    stderr, stdout = f"{directory}/stderr.log", f"{directory}/stdout.log"
    return stdout if not (tail(stderr) or "").strip() and (tail(stdout) or "").strip() else stderr


def _left(table: Sequence[AgentEntry], ended: Collection[int], attempt: str) -> list[RankFailure]:
    """The ranks that were gone before the agent ended the others, and had ended well: its table has none of them.

    Those that the agent ended and that then ended well are not in it either: then it may be one or the other.
    """
    missing = sorted(set(started_ranks(attempt)) - {entry.local_rank for entry in table})
    known = {entry.pid for entry in table}
    count = len(missing) - sum(pid not in known for pid in ended)
    first = table[0].rank - table[0].local_rank
    found = [_quiet(attempt, first + local, local, last_written(attempt, local)) for local in missing]
    if 0 < count < len(missing):
        return [left_early(found[0], or_ranks=[one.rank for one in found[1:]])]
    return [left_early(one) for one in found] if count else []


def _quiet(attempt: str, rank: int, local_rank: int, when: float) -> RankFailure:
    """A rank that ended without an error."""
    path = _written(f"{attempt}/{local_rank}")
    return rank_failure(AgentEntry(rank, local_rank, 0, when, wrote_error=False), None, tail(path) or "", path)


def last_written(attempt: str, local_rank: int) -> float:
    """When a rank wrote last, in seconds since 1970; 0 where it has no log."""
    written = [0.0]
    for name in ("stderr.log", "stdout.log"):
        with contextlib.suppress(OSError):
            written.append(os.lstat(f"{attempt}/{local_rank}/{name}").st_mtime)
    return max(written)
