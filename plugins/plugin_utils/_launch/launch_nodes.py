# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which nodes a launch goes on with: one that is sick or away is left out and named, where enough others are there."""

from __future__ import annotations

from typing import Mapping, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import RUNNING, SUCCEEDED

# Where all nodes of a job say the same, more names than these would only hide what they say.
_MOST_NAMED = 8


def launch_nodes(
    hosts: Sequence[str],
    answers: Mapping[str, Mapping[str, object]],
    spares: Sequence[str] = (),
    min_nodes: int = 0,
    left_out: Mapping[str, str] | None = None,
    witness: str = "",
) -> dict[str, object]:
    """``start``: the nodes to go on with, first the one that knows the job already or is to begin it; ``left_out``: why
    by node; ``refusal``: one sentence where too few are left, or where they differ in version, else empty;
    ``starting``: where to start now, which is on all of ``start`` unless one of them knows the job; ``joining``: those
    that are not yet in the run of the first.

    ``witness`` "" for none: it votes, and runs nothing. ``answers`` are the results of a task by node, of those that
    took part in it. ``min_nodes`` 0: as many as ``hosts``.
    """
    voters = (*hosts, *filter(None, [witness]))
    named = (*hosts, *spares, *voters[len(hosts) :])
    reasons = {**{node: _reason(answers[node]) for node in named if node in answers}, **(left_out or {})}
    out = {node: reason for node, reason in reasons.items() if reason}
    ready = [node for node in named if node not in out]
    runners = [node for node in ready if node != witness]
    start = _first_first(ready, answers)
    is_known = any(_state(answers, node) in (RUNNING, SUCCEEDED) for node in start)
    return {
        "start": start,
        "starting": start[:1] if is_known else start,
        "joining": _apart(start, answers),
        "left_out": out,
        "refusal": _versions_refusal(ready, answers)
        if len(runners) >= (min_nodes or len(hosts)) and _agree(voters, ready)
        else _refusal(hosts, voters, runners, ready, min_nodes, out, may_do_without=bool(spares or min_nodes)),
    }


def _versions_refusal(ready: Sequence[str], answers: Mapping[str, Mapping[str, object]]) -> str:
    """Supervisors of two versions would not understand each other; empty where all that are to run are of one."""
    nodes_of: dict[str, list[str]] = {}
    for node in ready:
        version = str(answers.get(node, {}).get("library") or "")
        if version and _state(answers, node) != SUCCEEDED:
            nodes_of.setdefault(version, []).append(node)
    if len(nodes_of) < 2:
        return ""
    reported = ", ".join(f"{version} on {' and '.join(nodes)}" for version, nodes in nodes_of.items())
    remedy = "run playbooks/venv.yml on all of them"
    return f"The nodes have different versions of gaudi3_scale: {reported}; {remedy}."


def _reason(answer: Mapping[str, object]) -> str:
    if answer.get("unreachable"):
        return f"it does not answer: {str(answer.get('msg', '')).strip()}"
    # A node that had nothing to do, such as the one that the others join, is as well as it was before.
    well = answer.get("state") or answer.get("skipped")
    return "" if well else str(answer.get("msg") or "it returned no result")


def _first_first(ready: Sequence[str], answers: Mapping[str, Mapping[str, object]]) -> list[str]:
    """A node on which the job runs, or has ended well, decides what is to be done: the others join its run."""
    order = {RUNNING: 0, SUCCEEDED: 1}
    return sorted(ready, key=lambda node: order.get(_state(answers, node), 2))


def _apart(start: Sequence[str], answers: Mapping[str, Mapping[str, object]]) -> list[str]:
    """The nodes that have not begun, or that another launch at the same time has begun. A job that has ended well has
    nothing left to join."""
    if not start or _state(answers, start[0]) != RUNNING:
        return []
    runs = {node: str(answers.get(node, {}).get("run") or "") for node in start}
    return [node for node in start if runs[node] != runs[start[0]]]


def _state(answers: Mapping[str, Mapping[str, object]], node: str) -> str:
    return str(answers.get(node, {}).get("state"))


def _agree(voters: Sequence[str], ready: Sequence[str]) -> bool:
    """Whether enough of those that vote are there for the supervisors to agree to go on without the rest of them."""
    there = sum(node in ready for node in voters)
    return 2 * there > len(voters) or (2 * there == len(voters) and voters[0] in ready)


def _refusal(
    hosts: Sequence[str],
    voters: Sequence[str],
    runners: Sequence[str],
    ready: Sequence[str],
    min_nodes: int,
    out: Mapping[str, str],
    *,
    may_do_without: bool,
) -> str:
    """The reasons, each once: what is wrong with the description is wrong on every node. Where a launch may do without
    a node, also why it may not without these.
    """
    nodes_of: dict[str, list[str]] = {}
    for node, reason in out.items():
        nodes_of.setdefault(reason, []).append(node)
    asked = len({*ready, *out})
    reported = " ".join(f"{_who(nodes, asked)}: {reason.rstrip('.')}." for reason, nodes in nodes_of.items())
    if not runners or not may_do_without:
        return reported
    counted = f"{len(runners)} node(s) are left where {min_nodes or len(hosts)} are needed"
    if len(runners) >= (min_nodes or len(hosts)):
        who = f"{len(hosts)} hosts{' and the witness' if len(voters) > len(hosts) else ''}"
        counted = f"of {who} {sum(node in ready for node in voters)} are left, not more than half"
    return f"{reported} Without, {counted}."


def _who(nodes: Sequence[str], asked: int) -> str:
    return f"All {asked} nodes" if len(nodes) == asked > _MOST_NAMED else ", ".join(nodes)
