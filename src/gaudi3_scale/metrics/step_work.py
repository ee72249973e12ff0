# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What all ranks do in a step, and how fast they were: the rates of a metric line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gaudi3_scale.metrics.bridge_counters import bridge_counters
from gaudi3_scale.metrics.utilization import Utilization, share_or_reason


@dataclass(frozen=True)
class StepWork:
    """``tokens`` and ``samples`` are those of all ranks, ``utilization`` is of one card, None where no peak is known.

    ``counters`` is the file of the bridge's counters, if there is one.
    """

    tokens: int
    samples: int
    utilization: Utilization | None = None
    counters: Path | None = None

    def rates(self, each: float | None, ranks: int) -> dict[str, float | None]:
        """With ``each`` seconds a step; null where that is not known."""
        return {
            name: value
            for what, count in (("tokens", self.tokens), ("samples", self.samples))
            for name, value in (
                (f"{what}_per_second", round(count / each, 1) if each else None),
                (f"{what}_per_second_per_card", round(count / each / ranks, 1) if each else None),
            )
        }

    def share_of_peak(self, each: float | None) -> tuple[dict[str, float | None], str]:
        """The field ``mfu``, no field where nothing is known of the card, and why one is left out."""
        if self.utilization is None:
            return {}, ""
        share, refused = share_or_reason(self.utilization, each) if each else (None, "")
        return {"mfu": None if share is None else round(share, 4)}, refused

    def counted(self) -> dict[str, int]:
        """What the bridge has counted so far."""
        return bridge_counters(self.counters)
