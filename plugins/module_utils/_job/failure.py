# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which rank failed first and why, from what the ranks and their agent left behind."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict, dataclass, replace
from typing import Iterable, Sequence

from .._node.json_file import parse_json
from .agent_table import SIGTERM, AgentEntry
from .failure_kinds import LEAVING, LOST, SIGNAL, TOLD
from .log_lines import LogLine, cut_middle, log_lines
from .lost_peer import is_lost_peer
from .native_abort import where_it_was
from .rank_end import MOST_MESSAGE, by_exception, without_exception
from .reported_failure import (
    AGENT,
    CAUSE,
    ENDED_BY_AGENT,
    IN_THREAD,
    LEFT,
    LOG_LINES,
    LOST_PEER,
    TOLD_BY_OTHERS,
    distance,
)
from .tracebacks import ABORTED_AT_EXIT, FIRST_OF, Raised, Uncaught, chain_of, headline_of, of_thread, uncaught

SIGKILL = -9
# Of these lines those before an exception, those of its message, and those of the log's end.
_FRAME_LINES, _END_LINES = 8, 3
_MOST_SHOWN_LINE = 400
_LEFT_OUT = "…"


@dataclass(frozen=True)
class RankFailure:
    """A rank that did not end well, or the agent itself (rank AGENT).

    ``time`` in seconds since 1970; ``exit_code`` negative for a signal; ``path`` of the whole log on the node. ``host``
    is the rank's where its log lies on another node; "": it is the log's. ``echo``: how far from the cause it is (see
    ``reported_failure``).

    ``kind`` is one of ``failure_kinds``, ``row`` names one of ``error_table``, and ``at`` is the frame of the user's
    own code. ``others``: a line for each rank that followed.
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
    echo: int = CAUSE
    kind: str = ""
    at: str = ""
    row: str = ""
    others: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """As plain values."""
        return {**asdict(self), "lines": list(self.lines), "others": list(self.others)}


def rank_failure(entry: AgentEntry, error_file: str | None, stderr: str, path: str) -> RankFailure:
    """``entry`` with its reason: from the text of its error file, else from what its stderr ends with."""
    recorded = None if error_file is None else _recorded(error_file)
    lines = log_lines(stderr) or (log_lines(recorded.chain[-1].message) if recorded else [])
    printed = uncaught(lines, entry.exit_code)
    ended = recorded or printed
    end = by_exception(ended, lines) if ended is not None else without_exception(entry.exit_code, lines)
    message = end.message
    if entry.exit_code < 0 and recorded is None:
        message = _with_signal(message, entry.exit_code, lines)
    told = entry.exit_code == SIGTERM and not end.exception
    return RankFailure(
        rank=entry.rank,
        local_rank=entry.local_rank,
        exit_code=entry.exit_code,
        time=entry.time,
        exception=end.exception,
        message=cut_middle(message, MOST_MESSAGE) or _status(entry.exit_code),
        lines=_shown(lines, None if printed is None else printed.headline),
        path=path,
        echo=ENDED_BY_AGENT if told else LOST_PEER if end.is_echo else CAUSE,
        kind=TOLD if told else end.kind,
        at=end.at,
        row=end.row,
    )


def _with_signal(message: str, exit_code: int, lines: Sequence[LogLine]) -> str:
    """``message`` with the signal that ended the rank, where that was not only how Python came to its end."""
    where = where_it_was(lines)
    killed = f"killed by {_signal_name(-exit_code)}{f' in {where}' if where else ''}"
    if not message:
        return killed
    return message if any(line.text == ABORTED_AT_EXIT for line in lines) else f"{message}; then {killed}"


def _shown(lines: Sequence[LogLine], headline: int | None) -> tuple[str, ...]:
    """The last lines; of a log that does not end with the exception, those about it and the very last ones."""
    texts = [cut_middle(line.text, _MOST_SHOWN_LINE) for line in lines]
    if headline is None or len(texts) - headline <= LOG_LINES - _FRAME_LINES:
        return tuple(texts[-LOG_LINES:])
    about = texts[max(0, headline - _FRAME_LINES) : headline + LOG_LINES - _FRAME_LINES - _END_LINES - 1]
    return (*about, _LEFT_OUT, *texts[-_END_LINES:])


def _status(exit_code: int) -> str:
    """An exit status in words. A shell has 128 and the number of the signal that ended what it ran."""
    shells = exit_code - 128
    of_signal = f" (what it ran was killed by {_signal_name(shells)})" if 0 < shells < 32 else ""
    return f"exit status {exit_code}{of_signal}"


def agent_failure(exit_code: int, time: float, agent_log: str, path: str) -> RankFailure:
    """A node whose agent failed without a rank: torchrun is missing, refused its arguments, or found no other node."""
    return rank_failure(AgentEntry(AGENT, AGENT, exit_code, time, wrote_error=False), None, agent_log, path)


def lost_node(started: float, path: str) -> RankFailure:
    """A worker group that neither runs nor recorded its end."""
    message = "the node went down while the job ran, or the job never started; launch it again to resume"
    return RankFailure(AGENT, AGENT, 0, started, "", message, (), path, kind=LOST)


def told_by_agent(failure: RankFailure) -> RankFailure:
    """``failure`` of a rank that its agent ended, since another one had failed."""
    return replace(failure, echo=ENDED_BY_AGENT, kind=TOLD)


def told_by_others(failure: RankFailure) -> RankFailure:
    """``failure`` of a rank that got SIGTERM from somebody else."""
    message = f"{failure.message}; not by its agent: somebody, or what limits its session or unit, sent it"
    return replace(failure, message=message, echo=TOLD_BY_OTHERS, kind=SIGNAL)


def thread_failure(failure: RankFailure, log: str) -> RankFailure:
    """``failure`` of a rank that was only told to end, as that of a thread of it that had died before: others may have
    waited for what that thread did. Itself where none had.
    """
    lines = log_lines(log)
    found = of_thread(lines)
    if found is None or is_lost_peer(found.chain[0]):
        return failure
    end = by_exception(found, lines)
    message = f"{end.message} (in a thread of it; the rank went on until it was told to end)"
    shown = _shown(lines, found.headline)
    return replace(
        failure,
        exception=end.exception,
        message=message,
        lines=shown,
        echo=IN_THREAD,
        kind=end.kind,
        at=end.at,
        row=end.row,
    )


def left_early(
    failure: RankFailure, step: int | None = None, *, seen: bool = False, or_ranks: Sequence[int] = ()
) -> RankFailure:
    """``failure`` as that of a rank that ended well while others ran: at its time where that was ``seen``, after
    ``step``; ``or_ranks``: it was this one or one of these.
    """
    others = "".join(f"or rank {rank} " for rank in or_ranks)
    at = time.strftime(" at %H:%M:%S", time.localtime(failure.time)) if seen else ""
    after = "" if step is None else f" after step {step}"
    message = f"{others}ended with exit status 0{at}{after} while other ranks ran"
    return replace(failure, exit_code=0, exception="", message=message, echo=LEFT, kind=LEAVING, at="", row="")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _recorded(error_file: str) -> Uncaught | None:
    """What an error.json has: ``Type: text``, one level deeper since torch's handler is the default one, and there its
    traceback, too."""
    try:
        data = parse_json(error_file)
        message = data["message"]
        text = str(message["message"] if isinstance(message, dict) else message)
    except (ValueError, KeyError, TypeError):
        return None
    name, colon, rest = text.partition(": ")
    said = headline_of(f"{name}:") if colon else Raised("", "")
    raised = Raised(said.type, rest) if said.type else Raised("", text)
    about = message.get("extraInfo") if isinstance(message, dict) else None
    found = chain_of(str(about.get("py_callstack"))) if isinstance(about, dict) else None
    if found is None or found.chain[-1].name != raised.name:
        return Uncaught((raised,), FIRST_OF, 0)
    return replace(
        found, chain=(*found.chain[:-1], replace(raised, at=found.chain[-1].at, frame=found.chain[-1].frame))
    )


def first_failure(failures: Iterable[RankFailure]) -> RankFailure | None:
    """The nearest to a cause; of several, the earliest."""
    return min(failures, key=lambda failure: (distance(failure.echo), failure.time, failure.rank), default=None)
