# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""All-reduces of pairs of nodes, all pairs at the same time, one network after the other.

Nodes are reached through ``ask`` alone, so that the order of things can be tested without any.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.answers import KEPT
from ansible_collections.gaudi3.scale.plugins.plugin_utils._fabric.pairs import (
    Candidate,
    Looks,
    Pair,
    candidates_of,
    pairs_of,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_collectives import (
    Collectives,
    GroupResult,
    run_groups,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_jobs import Group
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import evidence
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import RefusedError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

NETWORKS = "gaudi3.scale.hpu_fabric_networks"
# Where one of these is another, an old measurement says nothing.
_TOLD = ("provider", "cards", "links", "library")


@dataclass(frozen=True)
class Settings:
    """How it is measured, and whether also what is known: see the options of the module ``fabric_benchmark``."""

    collectives: Collectives
    again: bool


@dataclass(frozen=True)
class Measured:
    """What a pair showed. ``rows``: for each network ``provider``, ``flags``, ``sizes`` (``bytes``, ``seconds``,
    ``busbw_gb_per_s``) and ``why`` it has none, with ``absent``, the nodes whose ranks did not start, or ``late`` where
    its time was over and that says nothing. ``time``: when, in UTC; ``cached``: it was known.
    """

    pair: Pair
    rows: Sequence[Mapping[str, Any]] = ()
    time: str = ""
    cached: bool = False


def measure(
    looks: Looks,
    addresses: Mapping[str, str],
    settings: Settings,
    ask: Ask | None,
    show: Callable[[str], None],
    clock: Callable[[], float] = time.time,
) -> list[Measured]:
    """Measure each pair, unless its nodes keep a measurement of the same; nodes keep what is new.

    Without ``ask`` nothing is measured, and what is not known is left out.
    """
    candidates = {pair: candidates_of(pair, looks) for pair in pairs_of(looks)}
    keys = {pair: _key(pair, found, looks, settings) for pair, found in candidates.items()}
    known = {} if settings.again else {pair: _known(pair, looks, keys[pair]) for pair in candidates}
    if ask is None:
        return [one for one in known.values() if one]
    ran: dict[Pair, list[tuple[Candidate, GroupResult]]] = {pair: [] for pair in candidates if not known.get(pair)}
    for one_after_the_other in _rounds(ran, candidates):
        for pair, result in _run(one_after_the_other, addresses, settings, ask, show).items():
            ran[pair].append((one_after_the_other[pair], result))
    rows = _rows(ran)
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(clock()))
    found = [known.get(pair) or Measured(pair, rows[pair], now) for pair in candidates]
    _keep(found, keys, settings, ask)
    return found


def _key(pair: Pair, candidates: Sequence[Candidate], looks: Looks, settings: Settings) -> str:
    """What two measurements have in common that may stand for each other."""
    how = settings.collectives
    described = {
        "nodes": [[node, *(looks[node][name] for name in _TOLD)] for node in pair.nodes],
        "networks": [[one.provider, dict(one.interfaces), dict(one.flags)] for one in candidates],
        "settings": [list(how.sizes), how.ranks.device, how.ranks.processes_per_node, dict(how.ranks.job)],
    }
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


def _known(pair: Pair, looks: Looks, key: str) -> Measured | None:
    """What all owners of the pair keep; a node that keeps something else, or nothing, has it measured again."""
    for owner in pair.owners:
        if looks[owner]["measurement"].get("key") != key:
            return None
    try:
        kept = KEPT(looks[pair.owners[0]]["measurement"], "measurement")
    except RefusedError:
        return None
    return Measured(pair, kept["rows"], kept["time"], cached=True)


def _rounds(
    pairs: Mapping[Pair, object], candidates: Mapping[Pair, Sequence[Candidate]]
) -> list[dict[Pair, Candidate]]:
    """Pairs without a common node together; a node that is in two pairs waits for its first."""
    first = [pair for pair in pairs if len(pair.owners) == len(pair.nodes)]
    second = [pair for pair in pairs if pair not in first]
    found = []
    for together in (first, second):
        for number in range(max((len(candidates[pair]) for pair in together), default=0)):
            found.append({pair: candidates[pair][number] for pair in together if number < len(candidates[pair])})
    return found


def _run(
    jobs: Mapping[Pair, Candidate],
    addresses: Mapping[str, str],
    settings: Settings,
    ask: Ask,
    show: Callable[[str], None],
) -> dict[Pair, GroupResult]:
    for provider in dict.fromkeys(one.provider for one in jobs.values()):
        nodes = [" and ".join(pair.nodes) for pair, one in jobs.items() if one.provider == provider]
        show(f"All-reduce over {provider}: {', '.join(nodes)}.")
    groups = [Group(job_name(one.provider), pair.nodes, _environments(pair, one)) for pair, one in jobs.items()]
    results = run_groups(groups, settings.collectives, addresses, ask)
    return dict(zip(jobs, results))


def _rows(found: Mapping[Pair, Sequence[tuple[Candidate, GroupResult]]]) -> dict[Pair, list[Mapping[str, Any]]]:
    """Of each pair, once all are known: over all networks a pair's time is held against that of the others."""
    every = [(pair, result) for pair, some in found.items() for _candidate, result in some]
    speaks = iter(evidence([result.measured(pair.nodes) for pair, result in every]))
    return {
        pair: [_row(candidate, result, bool(result.late) > next(speaks)) for candidate, result in some]
        for pair, some in found.items()
    }


def _environments(pair: Pair, candidate: Candidate) -> dict[str, Mapping[str, str]]:
    """Sockets take the interface that they are told; the cards' library finds its own by the flags."""
    return {
        node: {"GLOO_SOCKET_IFNAME": candidate.interfaces[node]} if candidate.interfaces[node] else candidate.flags
        for node in pair.nodes
    }


def job_name(provider: str) -> str:
    """The name under which a node's log of it is found."""
    return f"fabric-{provider.replace('_', '-')}"


def _row(candidate: Candidate, result: GroupResult, is_late: bool) -> dict[str, Any]:
    row = {"provider": candidate.provider, "flags": dict(candidate.flags)}
    absent = {"absent": list(result.absent)} if result.absent else {}
    late = {"late": True} if is_late else {}
    return {**row, "sizes": list(result.lines), "why": result.why, **absent, **late}


def _keep(found: Sequence[Measured], keys: Mapping[Pair, str], settings: Settings, ask: Ask) -> None:
    """On the owners; what failed is measured again by the next run."""
    new = [one for one in found if not one.cached and one.rows and not any(row["why"] for row in one.rows)]
    kept = {
        owner: {
            "device": settings.collectives.ranks.device,
            "measurement": {"key": keys[one.pair], "time": one.time, "nodes": one.pair.nodes, "rows": list(one.rows)},
        }
        for one in new
        for owner in one.pair.owners
    }
    if kept:
        ask(NETWORKS, kept)
