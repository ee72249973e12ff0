# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Collectives over groups of nodes, all groups at the same time.

Nodes are reached through ``ask`` alone, so that the order of things can be tested without any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._monitoring.worker_group import FAILED, SUCCEEDED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import (
    number,
    record,
    said,
    several,
    taken,
    whole,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

JOB, LOOK = "gaudi3.scale.training_job", "gaudi3.scale.training_job_info"
_MOST_SIZES = 64
SIZE = record({"bytes": whole(1), "seconds": number, "busbw_gb_per_s": number})
# The lines of gaudi3_scale.collectives. A rank that got a wrong value has failed.
_LINES = several(SIZE, _MOST_SIZES)


@dataclass(frozen=True)
class Group:
    """Nodes in the order of their ranks, and the name of their job, under which a node's log is found.

    ``environment``: node -> what its ranks have beside the job's own.
    """

    name: str
    nodes: tuple[str, ...]
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Collectives:
    """What each group runs: ``collective`` at ``sizes`` in bytes, for about ``seconds`` each (0: the program's).

    ``timeout``: seconds that the ranks of a group have; ``job``: further options of the module ``training_job``.
    """

    sizes: Sequence[int]
    device: str
    processes_per_node: int
    rendezvous_port: int
    timeout: int
    job: Mapping[str, Any]
    collective: str = "all_reduce"
    seconds: float = 0.0


@dataclass(frozen=True)
class GroupResult:
    """``lines``: for each size ``bytes``, ``seconds``, ``busbw_gb_per_s``, ascending; else ``why`` there are none.

    ``absent``: the nodes whose ranks did not start; ``failed``: those whose ranks ended with an error of their own.
    """

    lines: Sequence[Mapping[str, Any]] = ()
    why: str = ""
    absent: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


def run_groups(
    groups: Sequence[Group], wanted: Collectives, addresses: Mapping[str, str], ask: Ask
) -> list[GroupResult]:
    """One result for each group, in their order. No node is in two groups; ``addresses``: node -> its address."""
    arguments = {node: _arguments(group, node, wanted, addresses) for group in groups for node in group.nodes}
    begun = ask(JOB, arguments)
    # Ranks whose partner did not start would be waited for in vain.
    waiting = {
        node: {"name": group.name, "wait": True, "timeout": wanted.timeout if _is_whole(group, begun) else 0}
        for group in groups
        for node in group.nodes
        if "state" in begun[node]
    }
    ended = ask(LOOK, waiting) if waiting else {}
    running = [node for node in waiting if ended[node].get("state") not in (SUCCEEDED, FAILED)]
    if running:
        ask(JOB, {node: {"name": waiting[node]["name"], "state": "stopped"} for node in running})
    return [_result(group, wanted, begun, ended) for group in groups]


def _is_whole(group: Group, begun: Mapping[str, Mapping[str, Any]]) -> bool:
    return all("state" in begun[node] for node in group.nodes)


def _arguments(group: Group, node: str, wanted: Collectives, addresses: Mapping[str, str]) -> dict[str, Any]:
    what = ["--collectives", wanted.collective, "--bytes", *map(str, wanted.sizes)]
    return {
        **wanted.job,
        "name": group.name,
        "restart": True,
        "hosts": list(group.nodes),
        "host": node,
        "processes_per_node": wanted.processes_per_node,
        "rendezvous_address": addresses[group.nodes[0]],
        "rendezvous_port": wanted.rendezvous_port,
        "command": [
            *("-m", "gaudi3_scale.collectives", "--device", wanted.device, *what),
            *(["--seconds", str(wanted.seconds)] if wanted.seconds else []),
        ],
        "environment": dict(group.environment.get(node, {})),
        "device": wanted.device,
        "bind": "none",
    }


def _result(
    group: Group,
    wanted: Collectives,
    begun: Mapping[str, Mapping[str, Any]],
    ended: Mapping[str, Mapping[str, Any]],
) -> GroupResult:
    absent = tuple(node for node in group.nodes if "state" not in begun[node])
    if absent:
        return GroupResult(why=f"{absent[0]}: {why_absent(begun[absent[0]])}", absent=absent)
    failed = tuple(node for node in group.nodes if ended.get(node, {}).get("state") == FAILED)
    first = group.nodes[0]
    try:
        # Ranks that failed say why; those that were left waiting for them do not.
        for node in sorted(group.nodes, key=lambda node: node not in failed):
            _require_success(node, group.name, ended.get(node, {}))
        lines = taken(first, "training_job_info", _LINES, ended[first]["metrics"])
    except GaudiError as error:
        return GroupResult(why=str(error), failed=failed)
    if len(lines) < len(wanted.sizes):
        return GroupResult(why=f"rank 0 on {first} told {len(lines)} of {len(wanted.sizes)} sizes; see its log.")
    return GroupResult(sorted(lines, key=lambda line: int(line["bytes"])))


def why_absent(begun: Mapping[str, Any]) -> str:
    """Why a node's ranks did not start, in one line."""
    return str(said(str(begun.get("msg") or "its ranks did not start"), "msg"))


def _require_success(node: str, name: str, ended: Mapping[str, Any]) -> None:
    """Raises GaudiError with one sentence where the node's ranks did not end well."""
    state = said(str(ended.get("state") or ended.get("msg") or "it gave no answer"), "state")
    if state == SUCCEEDED:
        return
    failure = ended.get("failure")
    why = failure.get("message") if isinstance(failure, Mapping) else ""
    reason = said(str(why or "not all ranks came together"), "failure")
    raise GaudiError(f"its ranks on {node} are {state}: {reason}; see the log of job {name} there.")
