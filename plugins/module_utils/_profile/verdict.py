# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why a step takes as long as it does: every cause with its share and what shows it, from the ranks' own records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Mapping, Optional, Sequence

from .common_causes import Finding, common_causes
from .records import RankRecord
from .rules import COMPUTE, FEWEST_RANKS, FEWEST_STEPS, FULL_MEMORY, QUEUED, RULES, SLOW_LINK
from .side_by_side import Measured, side_by_side
from .stragglers import Behind, SlowLink, behind, slow_links
from .trace_summary import TraceSummary


@dataclass(frozen=True)
class Cause:
    """``share`` of a step, from 0 to 1. ``ranks`` and ``node`` of what is slow; empty for what concerns all."""

    word: str
    share: float
    said: str
    evidence: str
    next: str
    ranks: tuple[int, ...] = ()
    node: str = ""
    part: str = ""


@dataclass(frozen=True)
class Verdict:
    """``missing`` says why there is no verdict, where there is none. ``notes`` is what could not be seen."""

    causes: tuple[Cause, ...]
    steps: int
    seconds: float
    ranks: int
    world_size: int
    missing: str = ""
    notes: tuple[str, ...] = ()


def judge(records: Sequence[RankRecord], traces: Optional[Mapping[int, TraceSummary]] = None) -> Verdict:
    """``traces`` by rank. Where several causes are notable, all of them; the largest share first."""
    records = sorted(records, key=lambda record: record.rank)
    measured = side_by_side(records)
    world = max((record.world_size for record in records), default=0)
    missing = _missing(records, measured, world)
    notes = _notes(records, measured, traces or {}, world)
    if missing:
        return Verdict((), measured.steps, measured.seconds, len(records), world, missing, notes)
    found = _causes(records, measured, traces or {})
    return Verdict(tuple(found), measured.steps, measured.seconds, len(records), world, "", notes)


def _causes(records: Sequence[RankRecord], measured: Measured, traces: Mapping[int, TraceSummary]) -> list[Cause]:
    slow = behind(measured)
    links = slow_links(records)
    # Of an exchange at the pace of a slow link, what it would take at the pace of the others.
    usual = measured.exchange / links[0].ratio if links else measured.exchange
    causes = [_of_finding(one, measured) for one in common_causes(records, measured, traces, slow, usual)]
    causes += [_of_rank(one, measured) for one in slow]
    causes += [_of_link(links[0], measured, measured.exchange - usual, records)] if links else []
    causes = [cause for cause in causes if cause.share >= RULES[cause.word].least]
    return sorted(causes, key=lambda cause: -cause.share) or [_compute(measured)]


def _of_finding(one: Finding, measured: Measured) -> Cause:
    rule = RULES[one.word]
    return Cause(one.word, one.seconds / measured.seconds, rule.said, one.evidence, rule.next)


def _of_rank(one: Behind, measured: Measured) -> Cause:
    rule = RULES[one.word]
    others = [rank.waited for rank in measured.ranks if rank.rank not in one.ranks]
    waited = f"; the others wait {_ms(max(others))} a step" if measured.knows_waiting and others else ""
    who = ", ".join(map(str, one.ranks[:8])) + (", …" if len(one.ranks) > 8 else "")
    evidence = (
        f"rank{'s' if len(one.ranks) > 1 else ''} {who} on {one.node}: {_ms(one.seconds)} a step more than a rank "
        f"without a fault, most of it in {_named(one.part)}, in {one.steady:.0%} of the steps{waited}"
    )
    told = rule.next.format(node=one.node, rank=one.ranks[0])
    return Cause(one.word, one.seconds / measured.seconds, rule.said, evidence, told, one.ranks, one.node, one.part)


def _of_link(link: SlowLink, measured: Measured, seconds: float, records: Sequence[RankRecord]) -> Cause:
    nodes = {record.rank: record.node for record in records}
    kind = "between nodes" if link.between_nodes else "within a node"
    evidence = (
        f"rank {link.source} ({nodes[link.source]}) to rank {link.target} ({nodes[link.target]}): {_ms(link.seconds)}, "
        f"{link.ratio:.1f} times the fastest link {kind}"
    )
    rule = RULES[SLOW_LINK]
    ranks = (link.source, link.target)
    return Cause(SLOW_LINK, seconds / measured.seconds, rule.said, evidence, rule.next, ranks, nodes[link.target])


def _compute(measured: Measured) -> Cause:
    own = max((rank.busy for rank in measured.ranks), default=0.0)
    evidence = f"{_ms(own)} of {_ms(measured.seconds)} a step are the ranks' own work, alike on all of them"
    rule = RULES[COMPUTE]
    return Cause(COMPUTE, min(1.0, own / measured.seconds), rule.said, evidence, rule.next)


def _missing(records: Sequence[RankRecord], measured: Measured, world: int) -> str:
    if not records:
        return "no rank has written a profile"
    if len(records) < FEWEST_RANKS * world:
        return f"{len(records)} of {world} ranks have a profile; gather those of all nodes"
    if measured.steps < FEWEST_STEPS:
        return (
            f"{measured.steps} step{'s' if measured.steps != 1 else ''} without a trace are common to all ranks, "
            f"{FEWEST_STEPS} are needed; make the window longer"
        )
    return "" if measured.seconds > 0 else "the steps took no time"


def _notes(
    records: Sequence[RankRecord], measured: Measured, traces: Mapping[int, TraceSummary], world: int
) -> tuple[str, ...]:
    notes = [
        f"rank {record.rank} on {record.node}: memory is full to {record.memory_peak / record.memory_limit:.0%}"
        for record in records
        if record.memory_limit and record.memory_peak >= FULL_MEMORY * record.memory_limit
    ]
    if not traces:
        notes.append("without a trace, moved bytes and gaps between operations are not seen")
    if measured.steps and world > 1 and not measured.knows_waiting:
        notes.append("nothing tells what ranks wait for others here: a rank slow in backward, and links, are not seen")
    notes += _queued(measured)
    told = dict.fromkeys(note for record in records for note in record.notes)
    return (*notes[:8], *list(told)[:8])


def _queued(measured: Measured) -> list[str]:
    """Of the rank that waited most for a processor, where that is notable."""
    if not measured.ranks or measured.seconds <= 0:
        return []
    rank = max(measured.ranks, key=lambda one: one.queued)
    if rank.queued < QUEUED * measured.seconds:
        return []
    waited = f"rank {rank.rank} on {rank.node} waited {_ms(rank.queued)} a step for a processor of its host"
    return [f"{waited}; end what else runs there, or start fewer processes"]


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


def _named(part: str) -> str:
    return {"host": "the host's time between the parts of a step"}.get(part, part)
