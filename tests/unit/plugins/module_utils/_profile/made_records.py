# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Records of ranks that are as told: a sound step takes 100 ms, of which 10 ms are an exchange."""

from __future__ import annotations

from typing import Callable, Mapping, Optional, Sequence

from ansible_collections.gaudi3.scale.plugins.module_utils._profile.records import PARTS, Link, RankRecord, Step

SOUND = {"data": 0.002, "forward": 0.03, "backward": 0.05, "optimizer": 0.006, "compile": 0.0}
HOST, EXCHANGE = 0.002, 0.010
More = Mapping[int, Mapping[str, float]]


def ranks(
    count: int = 4,
    *,
    steps: int = 20,
    more: Optional[More] = None,
    exchange: float = EXCHANGE,
    links: Optional[Callable[[int], Sequence[Link]]] = None,
    nodes: int = 2,
    every: int = 1,
    traced: int = 0,
    knows: bool = True,
    queued: Optional[Mapping[int, float]] = None,
) -> list[RankRecord]:
    """``more[rank]`` are seconds that this rank needs more of a part, in each of ``every`` steps, and ``queued[rank]``
    those of a step in which it waits for a processor."""
    more = more or {}
    made: list[list[Step]] = [[] for _rank in range(count)]
    for number in range(1, steps + 1):
        extra = {rank: more.get(rank, {}) if number % every == 0 else {} for rank in range(count)}
        own = {rank: sum(SOUND.values()) + HOST + sum(extra[rank].values()) for rank in range(count)}
        seconds = max(own.values()) + exchange
        for rank in range(count):
            parts = {part: SOUND[part] + extra[rank].get(part, 0.0) for part in PARTS}
            waited = seconds - own[rank] if knows else None
            waits = (queued or {}).get(rank, 0.0)
            made[rank].append(Step(number, seconds, parts, waited, 0.0, number > steps - traced, waits))
    return [
        RankRecord(
            rank,
            count,
            f"n{rank * nodes // count}",
            "cpu",
            tuple(made[rank]),
            links=tuple(links(rank)) if links else (),
        )
        for rank in range(count)
    ]


def all_ranks(count: int, **parts: float) -> More:
    return dict.fromkeys(range(count), parts)
