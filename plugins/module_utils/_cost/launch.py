# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The last launch of a job: which nodes were in it, and from when to when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .._follow.json_lines import mapping_of
from .._follow.worker_group import ABSENT, RUNNING

# Fields of ``training_job_info`` with a ``time`` at which something of the job was told.
TOLD = ("supervision", "usage", "last_metrics")


@dataclass(frozen=True)
class Launch:
    """``begin`` and ``end`` are Unix time, and None where no node knows them."""

    hosts: tuple[str, ...]
    begin: float | None
    end: float | None


def launch_of(infos: Mapping[str, Mapping[str, Any]], now: float) -> Launch:
    """From what ``training_job_info`` tells of each host.

    A node that was in an earlier launch alone keeps what it was told then: its job has other hosts, or was over before
    the last one began.
    """
    known = {host: info for host, info in infos.items() if _has_ranks(info)}
    newest: Mapping[str, Any] = max(known.values(), key=_started, default={})
    ends = {host: end_of(info, now) for host, info in known.items() if _hosts(info) == _hosts(newest)}
    hosts = [host for host, end in ends.items() if end is None or end >= _started(newest)]
    told = [end for end in (ends[host] for host in hosts) if end is not None]
    # Of one without a known end nobody can say whether it was in this launch from its start on.
    starts = [_started(newest), *(_started(known[host]) for host in hosts if ends[host] is not None)]
    return Launch(tuple(hosts), min((start for start in starts if start), default=None), max(told, default=None))


def end_of(info: Mapping[str, Any], now: float) -> float | None:
    """``now`` where the job runs. A node that lost its power knows no end: then it is when the job last told anything
    there, or None.
    """
    if info.get("ended"):
        return float(info["ended"])
    if info.get("state") == RUNNING:
        return now
    times = [mapping_of(info.get(name)).get("time") for name in TOLD]
    known = [float(time) for time in times if isinstance(time, (int, float))]
    return max((time for time in known if _started(info) < time <= now), default=None)


def is_part(info: Mapping[str, Any]) -> bool:
    """Whether the job has some of a node's cards, by what the node said; one that does not know it has whole nodes."""
    return 0 < len(info.get("modules") or ()) < int(info.get("node_cards") or 0)


def part_of_node(infos: Mapping[str, Mapping[str, Any]], hosts: Sequence[str]) -> float:
    """How much of a node's cards the job has, the mean of its ``hosts``."""
    known = [infos.get(host, {}) for host in hosts]
    shares = [len(info["modules"]) / int(info["node_cards"]) if is_part(info) else 1.0 for info in known]
    return sum(shares) / len(shares) if shares else 1.0


def _has_ranks(info: Mapping[str, Any]) -> bool:
    return info.get("state") not in (ABSENT, None) and not info.get("is_witness")


def _started(info: Mapping[str, Any]) -> float:
    """0 where the node does not know it."""
    return float(info.get("started") or 0.0)


def _hosts(info: Mapping[str, Any]) -> Any:
    return mapping_of(info.get("description")).get("hosts")
