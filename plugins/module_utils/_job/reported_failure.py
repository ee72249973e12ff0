# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A rank's failure as a node reports it, in plain values: which of several came first, and what to tell an operator."""

from __future__ import annotations

import re
from typing import Any, Mapping

from .error_table import row_named

# The agent itself, in the place of a rank.
AGENT = -1
# How far a failure is from the cause of a job's end: it is one; the rank lost a peer; its agent ended it; it ended well
# while others ran, which they then lost; a thread of it had died, and others may have waited for it; somebody else than
# its agent told it to end.
CAUSE, LOST_PEER, ENDED_BY_AGENT, LEFT, IN_THREAD, TOLD_BY_OTHERS = range(6)
_NEARNESS = (CAUSE, LEFT, TOLD_BY_OTHERS, IN_THREAD, LOST_PEER, ENDED_BY_AGENT)
LOG_LINES = 15
# Of the ranks that followed, so many have a line on the screen, with which the whole is one.
MOST_SHOWN = 4
_TEXTS = ("exception", "message", "path", "host", "kind", "at", "row")


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
    texts = {name: str(reported.get(name) or "") for name in _TEXTS}
    counts = {name: _whole(reported.get(name), AGENT) for name in ("rank", "local_rank", "exit_code", "echo")}
    shown, others = texts_of(reported, "lines")[-LOG_LINES:], texts_of(reported, "others")[:LOG_LINES]
    return {**reported, **texts, **counts, "time": _number(reported.get("time")), "lines": shown, "others": others}


def texts_of(reported: Mapping[str, object], name: str) -> list[str]:
    """The lines of this name in a failure of whoever."""
    lines = reported.get(name)
    return [str(line) for line in lines] if isinstance(lines, (list, tuple)) else []


def _whole(value: object, missing: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else missing


def first_failure_of(nodes: Mapping[str, Mapping[str, object]]) -> tuple[str, Mapping[str, object]] | None:
    """The node and its failure (see ``failure.RankFailure.as_dict``) that came first; None where no node has one."""
    found = [(host, failure) for host, failure in nodes.items() if failure]
    return min(found, key=lambda pair: nearness(pair[1]), default=None)


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def failure_sentence(host: str, failure: Mapping[str, object]) -> str:
    """What to tell the operator, on one screen: host, rank, exception, last lines, the frame of the user's own code,
    what helps where that is known, who followed, and where the whole log is.
    """
    # Under what screen_text puts before them.
    shown = [f"    {line}" for line in texts_of(failure, "lines")]
    exception = f"{failure['exception']}: " if failure["exception"] else ""
    failed = "" if failure.get("echo") == LEFT else "failed first: "
    first = f"{who_failed(host, failure)} {failed}{exception}{failure['message']}"
    at = [f"In the user's code: {failure['at']}"] if failure.get("at") else []
    row = row_named(failure.get("row"))
    known = [f"Cause: {row.cause}. Remedy: {row.remedy}."] if row is not None else []
    return "\n".join(
        [first, *shown, *at, *known, *_followed(failure), f"The whole log is {failure['path']} on {host}."]
    )


def who_failed(host: str, failure: Mapping[str, object]) -> str:
    """The rank, or the agent, and its node; ``host``: where the log lies."""
    place = failure.get("host") or host
    return f"rank {failure['rank']} on {place}" if _number(failure["rank"]) >= 0 else f"the agent on {place}"


def _followed(failure: Mapping[str, object]) -> list[str]:
    """A line for each rank that followed, as far as one screen has room for them."""
    others = texts_of(failure, "others")
    if len(others) <= MOST_SHOWN:
        return others
    shown = others[: MOST_SHOWN - 1]
    counted = re.match(r"(\d{1,6}) more followed$", others[-1])
    more = len(others) - len(shown) + (int(counted[1]) - 1 if counted else 0)
    return [*shown, f"{more} more followed"]
