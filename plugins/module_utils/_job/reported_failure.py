# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A rank's failure as a node reports it, in plain values: which of several came first, and what to tell an operator."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

# The agent itself, in the place of a rank.
AGENT = -1
# How far a failure is from the cause of a job's end: it is one; the rank lost a peer; its agent ended it; it ended well
# while others ran, which they then lost.
CAUSE, LOST_PEER, ENDED_BY_AGENT, LEFT = 0, 1, 2, 3
_NEARNESS = (CAUSE, LEFT, LOST_PEER, ENDED_BY_AGENT)
LOG_LINES = 15


def nearness(failure: Mapping[str, object]) -> tuple[int, float]:
    """Sorts failures (see ``failure.RankFailure.as_dict``): the nearest to a cause, then the earliest."""
    return distance(failure.get("echo")), _number(failure.get("time"))


def distance(echo: object) -> int:
    """From the cause, by ``echo``: the smaller, the nearer."""
    return _NEARNESS.index(echo) if isinstance(echo, int) and echo in _NEARNESS else len(_NEARNESS)


def failure_from(reported: object) -> dict[str, Any]:
    """A failure of whoever (see ``failure.RankFailure.as_dict``), each value of its kind; empty: there is none.

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
    """The node and its failure (see ``failure.RankFailure.as_dict``) that came first; None where no node has one."""
    found = [(host, failure) for host, failure in nodes.items() if failure]
    return min(found, key=lambda pair: nearness(pair[1]), default=None)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def failure_sentence(host: str, failure: Mapping[str, object]) -> str:
    """What to tell the operator: host, rank, exception, last lines, and where the whole log is."""
    lines = failure["lines"]
    # Under what screen_text puts before them.
    shown = [f"    {line}" for line in lines] if isinstance(lines, Sequence) else []
    exception = f"{failure['exception']}: " if failure["exception"] else ""
    place = failure.get("host") or host
    who = f"rank {failure['rank']} on {place}" if _number(failure["rank"]) >= 0 else f"the agent on {place}"
    failed = "" if failure.get("echo") == LEFT else "failed first: "
    first = f"{who} {failed}{exception}{failure['message']}"
    return "\n".join([first, *shown, f"The whole log is {failure['path']} on {host}."])
