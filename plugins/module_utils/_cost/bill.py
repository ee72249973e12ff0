# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a run cost: its nodes' hours and its energy, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass

from .._errors import GaudiError
from .prices import Prices

# More than this of a job's card seconds without a reading, and its energy is no measurement.
MOST_GAP = 0.05


@dataclass(frozen=True)
class Measured:
    """A run as it was: ``joules`` of the cards of its ``nodes``; ``gap_seconds`` and ``card_seconds`` over all cards.

    ``joules`` is None where nothing was measured. Of ``seconds`` (on the wall) ``lost_seconds`` went into steps that
    were made again, ``between_seconds`` into starting again. ``part`` of each node's cards was the job's.
    """

    seconds: float
    nodes: int
    tokens: float | None = None
    joules: float | None = None
    gap_seconds: float = 0.0
    card_seconds: float = 0.0
    lost_seconds: float = 0.0
    between_seconds: float = 0.0
    part: float = 1.0

    @property
    def whole_nodes(self) -> float:
        """Nodes that are paid for: of a node whose other cards others may have, the job's part."""
        return self.nodes * self.part

    @property
    def gap(self) -> float:
        """The part of the time of which nobody knows the power."""
        return self.gap_seconds / self.card_seconds if self.card_seconds else 0.0


@dataclass(frozen=True)
class Bill:
    """Money in the prices' currency. ``energy`` is None where no price or no measurement is there for it."""

    nodes: float
    energy: float | None
    kwh: float | None
    restarts: float
    million_tokens: float | None
    joules_a_token: float | None

    @property
    def total(self) -> float:
        return self.nodes + (self.energy or 0.0)


def bill_of(measured: Measured, prices: Prices) -> Bill:
    """GaudiError where the power is not known of so much of the run that a figure would be a guess."""
    if measured.joules is not None and measured.gap > MOST_GAP:
        raise GaudiError(
            f"the power of {measured.gap:.0%} of the run is not known, and more than {MOST_GAP:.0%} is too much; leave "
            "its energy out, or use a run that was monitored from its start."
        )
    nodes = measured.seconds / 3600 * measured.whole_nodes * prices.a_node_hour()
    joules = _joules(measured, prices)
    a_joule = prices.a_joule()
    energy = None if joules is None or a_joule is None else joules * a_joule
    total = nodes + (energy or 0.0)
    wasted = (measured.lost_seconds + measured.between_seconds) / measured.seconds if measured.seconds else 0.0
    return Bill(
        nodes,
        energy,
        None if joules is None else joules / 3.6e6,
        total * wasted,
        total / measured.tokens * 1e6 if measured.tokens else None,
        joules / measured.tokens if joules is not None and measured.tokens else None,
    )


def _joules(measured: Measured, prices: Prices) -> float | None:
    """Of the cards, where a gap counts like the time around it, and of the servers as far as somebody said it."""
    if measured.joules is None:
        return None
    cards = measured.joules / (1 - measured.gap)
    return cards + (prices.overhead_watts or 0.0) * measured.seconds * measured.whole_nodes
