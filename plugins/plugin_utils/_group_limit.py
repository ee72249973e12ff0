# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A limit that ran out, or an answer that did not come, and when that speaks against the nodes of a group; pure.

A limit says nothing by itself: storage is slow, a controller is busy, cores are shared. It becomes evidence by
comparison alone, where the same measurement ended in a small part of that time elsewhere (docs/qualify.md).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._follow.worker_group import FAILED, SUCCEEDED
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reached import MEASURING, MET, STARTED
from ansible_collections.gaudi3.scale.plugins.plugin_utils._node_answer import said

# Whoever ended within this part of the limit has shown that it is long enough.
QUICK = 0.25
NOT_STARTED, UNTOLD = "not started", "not known"
_WORDS = {
    MEASURING: "were measuring",
    MET: "had met",
    STARTED: "had started but not met",
    NOT_STARTED: "had not started",
    UNTOLD: "did not report how far they were",
}
# How torch and gloo call the end of their patience with other ranks: it is a limit, and no word of a fault. That of a
# driver with its device is one (CPU-CP timeout).
_OVER = re.compile(r"time[ds]?[ -]?out", re.IGNORECASE)
_OF_OTHERS = re.compile(
    r"client|worker|socket|store|barrier|rendezvous|connect|peer|collective|(?:send|recv) operation|\bwait timeout",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Limits:
    """``start_seconds``: how long the ranks of a group may take to start. ``option``, ``start_option``: what an
    operator raises."""

    start_seconds: int = 600
    option: str = "timeout"
    start_option: str = "timeout"


@dataclass(frozen=True)
class Late:
    """``reached``: node -> how far its ranks had come; ``seconds``: what they had for that, by ``option``. ``silent``:
    node -> why it did not answer. ``words``: what a rank said when its own patience was over."""

    reached: Mapping[str, str]
    seconds: float
    option: str
    silent: Mapping[str, str] = field(default_factory=dict)
    words: str = ""

    @property
    def unstarted(self) -> frozenset[str]:
        return frozenset(node for node, stage in self.reached.items() if stage == NOT_STARTED)

    def sentence(self, job: str) -> str:
        """What ran out, how far everybody was, and what to do."""
        if self.silent:
            node, why = next(iter(self.silent.items()))
            return f"{node} did not report how its ranks ended ({why.rstrip('.')}); run it again, once it answers."
        stages = dict.fromkeys(self.reached.values())
        told = "; ".join(
            f"{_WORDS[stage]} on {', '.join(node for node, one in self.reached.items() if one == stage)}"
            for stage in stages
        )
        words = f" ({self.words})" if self.words else ""
        return (
            f"its ranks had not ended when the {self.seconds:g} s of {self.option} were over: they {told}{words}. Run "
            f"it again with a larger {self.option}, and see the log of job {job}."
        )


@dataclass(frozen=True)
class Measured:
    """A group and how its measurement ended: after ``seconds`` where it ended well, else None, and ``late`` where its
    time was over."""

    nodes: tuple[str, ...]
    seconds: float | None
    late: Late | None


def spoke_of_itself(failure: object) -> bool:
    """Whether a rank failed by itself: neither by the loss of another one, nor since its patience was over."""
    if not isinstance(failure, Mapping):
        return True
    return not failure.get("echo") and not _is_patience(_words(failure))


def late_of(
    nodes: Sequence[str], ended: Mapping[str, Mapping[str, Any]], timeout: float, limits: Limits
) -> Late | None:
    """Of a group whose ranks were begun on all ``nodes``; None where it ended well, or a rank said what is wrong."""
    left = [node for node in nodes if ended[node].get("state") != SUCCEEDED]
    failures = [ended[node].get("failure") for node in left if ended[node].get("state") == FAILED]
    if not left or any(map(spoke_of_itself, failures)):
        return None
    silent = {node: _said(ended[node].get("msg")) for node in left if "state" not in ended[node]}
    words = [_words(failure) for failure in failures if isinstance(failure, Mapping)]
    patience = [one for one in words if _is_patience(one)]
    # Ranks that lost each other have said so, and nobody's time was over.
    if words and not patience and not silent:
        return None
    reached = {node: _stage(ended[node]) for node in nodes if node not in silent}
    ran = not {NOT_STARTED, STARTED} & {*reached.values()}
    seconds, option = (timeout, limits.option) if ran else (limits.start_seconds, limits.start_option)
    return Late(reached, seconds, option, silent, next(iter(patience), ""))


def evidence(measured: Sequence[Measured], started: Collection[str] = ()) -> list[bool]:
    """For each whether it was late and that speaks against its nodes.

    It does where the limit is known to be long enough: one of its nodes ended the same with another one, or more than
    half of all ended, in a quarter of the time that it had. And where its ranks were able to start: those that had not
    have started in another measurement, or are of ``started``; else their storage may be slow.
    """
    started_ones = {*started} | {node for one in measured for node in one.nodes if _has_started(one, node)}
    return [
        one.late is not None
        and not one.late.silent
        and one.late.unstarted <= started_ones
        and _is_long_enough(one.late.seconds, one.nodes, measured)
        for one in measured
    ]


def _is_long_enough(limit: float, nodes: Collection[str], measured: Sequence[Measured]) -> bool:
    quick = [one for one in measured if one.seconds is not None and one.seconds <= QUICK * limit]
    return 2 * len(quick) > len(measured) or any({*nodes} & {*one.nodes} for one in quick)


def _has_started(one: Measured, node: str) -> bool:
    if one.late is None:
        return one.seconds is not None
    return one.late.reached.get(node) in (STARTED, MET, MEASURING)


def _stage(answer: Mapping[str, Any]) -> str:
    """What all ranks of the node have reached."""
    reached, description = answer.get("reached"), answer.get("description")
    if not isinstance(reached, Mapping) or not isinstance(description, Mapping):
        return UNTOLD
    ranks = description.get("processes_per_node")
    return next((stage for stage in (MEASURING, MET, STARTED) if reached.get(stage) == ranks), NOT_STARTED)


def _is_patience(words: str) -> bool:
    return bool(_OVER.search(words) and _OF_OTHERS.search(words))


def _words(failure: Mapping[str, Any]) -> str:
    return _said(f"{failure.get('exception') or ''}: {failure.get('message') or ''}".removeprefix(": "))


def _said(text: object) -> str:
    return str(said(str(text or "it returned no result"), "msg"))
