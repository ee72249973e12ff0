# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One short job on each of several groups of nodes, all groups at the same time.

Nodes are reached through ``ask`` alone, so that the order of things can be tested without any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import FAILED, SUCCEEDED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._group_limit import Late, Limits, late_of, spoke_of_itself
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import MOST, said
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_questions import Ask

JOB, LOOK = "gaudi3.scale.training_job", "gaudi3.scale.training_job_info"


@dataclass(frozen=True)
class Group:
    """Nodes in the order of their ranks, and the name of their job, under which a node's log is found.

    ``environment``: node -> what its ranks have beside the job's own.
    """

    name: str
    nodes: tuple[str, ...]
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class Ranks:
    """What the ranks of every group are: see the options of the module ``training_job``, and ``job`` for further ones.

    ``timeout``: seconds that the ranks of a group have once all of them run. ``limits``: how long they may take to
    start, and which options say so.
    """

    device: str
    processes_per_node: int
    rendezvous_port: int
    timeout: int
    job: Mapping[str, Any]
    limits: Limits = field(default_factory=Limits)

    @property
    def longest(self) -> int:
        """Seconds that a group may take in all."""
        return self.timeout + self.limits.start_seconds


@dataclass(frozen=True)
class Ended:
    """How a group's job ended. ``first`` is what ``training_job_info`` answered of its first node.

    ``why``: one sentence where it did not end well. ``absent``: the nodes whose ranks did not start; ``failed``: those
    whose ranks ended with an error of their own. ``late``: no rank has said that anything is wrong, and its time was
    over, or an answer did not come. ``seconds`` that it took from when all ranks ran, where it ended well.
    """

    first: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    absent: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    late: Late | None = None
    seconds: float | None = None


def run_jobs(
    groups: Sequence[Group], command: Sequence[str], ranks: Ranks, addresses: Mapping[str, str], ask: Ask
) -> list[Ended]:
    """How each group's job ended, in their order. No node is in two groups; ``addresses``: node -> its address."""
    arguments = {node: _arguments(group, node, command, ranks, addresses) for group in groups for node in group.nodes}
    begun = ask(JOB, arguments)
    # Ranks whose partner did not start would be waited for in vain.
    none = {"timeout": 0}
    all_of_it = {"timeout": ranks.timeout, "start_timeout": ranks.limits.start_seconds}
    waiting = {
        node: {"name": group.name, "wait": True, **(all_of_it if _is_whole(group, begun) else none)}
        for group in groups
        for node in group.nodes
        if "state" in begun[node]
    }
    ended = ask(LOOK, waiting) if waiting else {}
    running = [node for node in waiting if ended[node].get("state") not in (SUCCEEDED, FAILED)]
    if running:
        ask(JOB, {node: {"name": waiting[node]["name"], "state": "stopped"} for node in running})
    return [_ended(group, begun, ended, ranks) for group in groups]


def _is_whole(group: Group, begun: Mapping[str, Mapping[str, Any]]) -> bool:
    return all("state" in begun[node] for node in group.nodes)


def _arguments(
    group: Group, node: str, command: Sequence[str], ranks: Ranks, addresses: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "bind": "none",
        **ranks.job,
        "name": group.name,
        "restart": True,
        "hosts": list(group.nodes),
        "host": node,
        "processes_per_node": ranks.processes_per_node,
        "rendezvous_address": addresses[group.nodes[0]],
        "rendezvous_port": ranks.rendezvous_port,
        "command": list(command),
        "environment": dict(group.environment.get(node, {})),
        "device": ranks.device,
    }


def _ended(
    group: Group, begun: Mapping[str, Mapping[str, Any]], answers: Mapping[str, Mapping[str, Any]], ranks: Ranks
) -> Ended:
    absent = tuple(node for node in group.nodes if "state" not in begun[node])
    if absent:
        return Ended(why=f"{absent[0]}: {_why_absent(begun[absent[0]])}", absent=absent)
    ended = {node: answers.get(node, {}) for node in group.nodes}
    failed = tuple(node for node in group.nodes if ended[node].get("state") == FAILED)
    own = tuple(node for node in failed if spoke_of_itself(ended[node].get("failure")))
    if late := late_of(group.nodes, ended, ranks.timeout, ranks.limits):
        return Ended(ended[group.nodes[0]], late.sentence(group.name), late=late)
    # Ranks that failed by themselves say why; those that were left waiting for them, or lost them, do not.
    in_order = sorted(group.nodes, key=lambda node: (node not in own, node not in failed))
    whys = [_why_not(node, group.name, ended[node]) for node in in_order]
    why = next(filter(None, whys), "")
    return Ended(ended[group.nodes[0]], why, failed=own, seconds=None if why else _seconds([*ended.values()]))


def _seconds(ended: Sequence[Mapping[str, Any]]) -> float | None:
    """From when its ranks ran, the longest of the nodes, each by its own clock; None where one does not tell."""
    spans = [_span(one) for one in ended]
    known = [span for span in spans if span is not None]
    return max(known) if known and len(known) == len(spans) else None


def _span(ended: Mapping[str, Any]) -> float | None:
    reached = ended.get("reached")
    since = _time(reached.get("since")) if isinstance(reached, Mapping) else None
    start, end = _time(ended.get("started")) if since is None else since, _time(ended.get("ended"))
    if start is None or end is None:
        return None
    # A unit records its end in whole seconds (unit.RECORD_END), so that it ended within the next one.
    seconds = end + 1 - start
    return seconds if seconds >= 0 else None


def _time(value: object) -> float | None:
    is_one = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= MOST
    return float(value) if is_one and isinstance(value, (int, float)) else None


def _why_absent(begun: Mapping[str, Any]) -> str:
    """Why a node's ranks did not start, in one line."""
    return str(said(str(begun.get("msg") or "its ranks did not start"), "msg"))


def _why_not(node: str, name: str, ended: Mapping[str, Any]) -> str:
    """One sentence where the node's ranks did not end well; else empty."""
    state = said(str(ended.get("state") or "unknown"), "state")
    if state == SUCCEEDED:
        return ""
    failure = ended.get("failure")
    why = failure.get("message") if isinstance(failure, Mapping) else ""
    reason = said(str(why or "they do not say why"), "failure")
    return f"its ranks on {node} are {state}: {reason}; see the log of job {name} there."
