# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes a launch goes on with: one that is sick or away is left out and named, where enough others are there."""

from __future__ import annotations

from typing import Mapping, Sequence

from ..monitoring.share import RUNNING, SUCCEEDED


def launch_nodes(
    hosts: Sequence[str],
    answers: Mapping[str, Mapping[str, object]],
    spares: Sequence[str] = (),
    min_nodes: int = 0,
    left_out: Mapping[str, str] | None = None,
) -> dict[str, object]:
    """``start``: the nodes to go on with, first the one that knows the job already or is to begin it; ``left_out``: why
    by node; ``refusal``: one sentence where too few are left, else empty; ``starting``: where to start now, which is on
    all of ``start`` unless one of them knows the job; ``joining``: those that are not yet in the run of the first.

    ``answers`` are the results of a task by node, of those that took part in it. ``min_nodes`` 0: as many as ``hosts``.
    """
    named = (*hosts, *spares)
    reasons = {**{node: _reason(answers[node]) for node in named if node in answers}, **(left_out or {})}
    out = {node: reason for node, reason in reasons.items() if reason}
    ready = [node for node in named if node not in out]
    start = _first_first(ready, answers)
    is_known = any(_state(answers, node) in (RUNNING, SUCCEEDED) for node in start)
    return {
        "start": start,
        "starting": start[:1] if is_known else start,
        "joining": _apart(start, answers),
        "left_out": out,
        "refusal": ""
        if _are_enough(hosts, ready, min_nodes)
        else _refusal(hosts, ready, min_nodes, out, may_do_without=bool(spares or min_nodes)),
    }


def _reason(answer: Mapping[str, object]) -> str:
    if answer.get("unreachable"):
        return f"it does not answer: {str(answer.get('msg', '')).strip()}"
    # A node that had nothing to do, such as the one that the others join, is as well as it was before.
    well = answer.get("state") or answer.get("skipped")
    return "" if well else str(answer.get("msg") or "it gave no answer")


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


def _are_enough(hosts: Sequence[str], ready: Sequence[str], min_nodes: int) -> bool:
    """Enough to run, and enough of ``hosts`` for the supervisors to agree to go on without the rest of them."""
    there = sum(host in ready for host in hosts)
    agree = 2 * there > len(hosts) or (2 * there == len(hosts) and hosts[0] in ready)
    return len(ready) >= (min_nodes or len(hosts)) and agree


def _refusal(
    hosts: Sequence[str], ready: Sequence[str], min_nodes: int, out: Mapping[str, str], *, may_do_without: bool
) -> str:
    """The reasons, each once: what is wrong with the description is wrong on every node. Where a launch may do without
    a node, also why it may not without these.
    """
    nodes_of: dict[str, list[str]] = {}
    for node, reason in out.items():
        nodes_of.setdefault(reason, []).append(node)
    told = " ".join(f"{', '.join(nodes)}: {reason.rstrip('.')}." for reason, nodes in nodes_of.items())
    if not ready or not may_do_without:
        return told
    counted = f"{len(ready)} node(s) are left where {min_nodes or len(hosts)} are needed"
    if len(ready) >= (min_nodes or len(hosts)):
        counted = f"of {len(hosts)} hosts {sum(host in ready for host in hosts)} are left, not more than half"
    return f"{told} Without, {counted}."
