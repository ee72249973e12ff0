# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Known causes that slow a training down, clocked where they are injected."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Callable, Mapping

RANKS, NODES, SLOW_RANK, SLOW_NODE = 4, ("n0", "n1"), 1, "n1"
# What a sound network takes for an exchange, and for what the links are timed with between two nodes.
NETWORK, LINK = 0.002, 0.010
LINK_FACTOR = 4.0
BEFORE, CLOCKED = 5, 20


@dataclass
class Faults:
    """Seconds a step of each cause; where ``rank`` sleeps is a part of the step.

    The others are what a verdict advises: processes that read ahead, batches that are so many times as large, so many
    passes for each exchange of gradients, and shapes that are padded.
    """

    seconds: Mapping[str, float]
    rank_sleeps_in: str = "backward"
    workers: int = 0
    larger: int = 1
    passes: int = 1
    padded: bool = False
    spent: dict[str, float] = field(default_factory=dict)

    def clocked(self, cause: str, body: Callable[[], object]) -> None:
        begun = time.perf_counter()
        body()
        self.spent[cause] = self.spent.get(cause, 0.0) + time.perf_counter() - begun

    def sleep(self, cause: str) -> None:
        self.clocked(cause, lambda: time.sleep(self.seconds[cause]))

    def of_rank(self, rank: int) -> list[str]:
        found = ["slow rank"] if rank == SLOW_RANK else []
        found += ["slow node"] if NODES[rank * len(NODES) // RANKS] == SLOW_NODE else []
        return [cause for cause in found if cause in self.seconds]

    @property
    def exchange(self) -> float:
        """With a slow link all of it is slower."""
        sound = self.seconds.get("communication", NETWORK)
        return sound * self.link_factor

    @property
    def link_factor(self) -> float:
        return self.seconds.get("slow link", 1.0)
