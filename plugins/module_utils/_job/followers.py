# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The ranks that ended since another one had failed: a line each, below the one that was first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Mapping, Sequence

from .failure import RankFailure
from .failure_kinds import HANG
from .log_lines import cut_middle
from .reported_failure import CAUSE, ENDED_BY_AGENT, LOST_PEER, first_failure_of, who_failed

# Lines that are kept of a job; with many ranks the rest are counted.
MOST_OTHERS = 15
_LINE = 160
_MORE = " more followed"
_SAYS = {LOST_PEER: "it lost a peer", ENDED_BY_AGENT: "its agent ended it"}


def with_others(first: RankFailure, others: Sequence[RankFailure]) -> RankFailure:
    """``first`` with a line for each of the other ranks of its node."""
    lines = [_line(f"rank {one.rank}", one, first) for one in sorted(others, key=lambda one: one.rank)]
    return replace(first, others=_bounded(lines))


def _line(who: str, one: RankFailure, first: RankFailure) -> str:
    said = _SAYS.get(one.echo)
    if said is None or (one.echo == LOST_PEER and one.kind == first.kind == HANG):
        said = f"{one.exception}: {one.message}" if one.exception else one.message
    later = one.time - first.time
    when = f" {later:.1f} s later" if one.echo == CAUSE and 0 < later < 60 else ""
    return cut_middle(f"{who} followed{when}: {' '.join(said.split())}", _LINE)


def _bounded(lines: Sequence[str]) -> tuple[str, ...]:
    """At most MOST_OTHERS lines, the last of which may count those that are left out."""
    counted = sum(_count(line) for line in lines)
    if counted == len(lines) <= MOST_OTHERS:
        return tuple(lines)
    kept = [line for line in lines if not line.endswith(_MORE)][: MOST_OTHERS - 1]
    return (*kept, f"{counted - len(kept)}{_MORE}")


def _count(line: str) -> int:
    number = line.removesuffix(_MORE) if line.endswith(_MORE) else "1"
    return int(number) if number.isdecimal() and len(number) < 7 else 1


def first_with_others(
    nodes: Mapping[str, Mapping[str, Any]], hosts: Sequence[str] = ()
) -> tuple[str, dict[str, Any]] | None:
    """The node and its failure that came first, with a line for each rank of all nodes that followed; None where no
    node has one. ``nodes``: failures (see ``RankFailure.as_dict``) by host. ``hosts``: all that had ranks; those of
    one without a failure were ended.
    """
    first = first_failure_of(nodes)
    if first is None:
        return None
    lines: list[str] = []
    for host, failure in nodes.items():
        if not failure:
            continue
        lines += [] if host == first[0] else [_line_of_node(host, failure, first[1])]
        lines += [_on(str(line), host) for line in failure.get("others") or ()]
    lines += [f"the ranks on {host} followed: they were ended" for host in hosts if not nodes.get(host)]
    return first[0], {**first[1], "others": list(_bounded(lines))}


def _line_of_node(host: str, failure: Mapping[str, Any], first: Mapping[str, Any]) -> str:
    echo = failure.get("echo")
    said = _SAYS.get(echo) if isinstance(echo, int) else None
    if said is None or failure.get("kind") == first.get("kind") == HANG:
        said = f"{failure['exception']}: {failure['message']}" if failure.get("exception") else str(failure["message"])
    return cut_middle(f"{who_failed(host, failure)} followed: {' '.join(said.split())}", _LINE)


def _on(line: str, host: str) -> str:
    """``rank 3 followed: …`` as ``rank 3 on node2 followed: …``, where it does not have its host."""
    who, followed, said = line.partition(" followed")
    return f"{who} on {host}{followed}{said}" if followed and " on " not in who and who.startswith("rank ") else line
