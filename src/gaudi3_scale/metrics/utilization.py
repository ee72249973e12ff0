# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which part of a card's peak a training makes use of (model FLOPs utilization); the standard library alone."""

from __future__ import annotations

from dataclasses import dataclass

from gaudi3_scale.core._cards.peak_rates import PeakRate, peak_of

GIVEN = "the operator's word"


@dataclass(frozen=True)
class Utilization:
    """``flops`` are the model's on one card in a step, ``peak`` is what the card could do a second."""

    flops: float
    peak: PeakRate

    def share(self, seconds: float) -> float:
        """Of the peak, with so many seconds a step."""
        return self.flops / seconds / (self.peak.tflops * 1e12)


def too_high(share: float, peak: PeakRate) -> str:
    """Why it is not shown: no card does more than it can, so that one of the two figures is wrong."""
    return (
        f"the model would use {100 * share:.0f} % of the peak of {peak.card} in {peak.precision}, "
        f"{peak.tflops:g} TFLOPS by {peak.source}, which cannot be; it is not shown: "
        "give the card's own peak with --peak-tflops, or count the operations of report_step anew."
    )


def share_or_reason(utilization: Utilization, seconds: float) -> tuple[float | None, str]:
    """The share, or why there is none to be shown."""
    share = utilization.share(seconds)
    if share > 1:
        return None, too_high(share, utilization.peak)
    return share, ""


def peak_of_card(card: str, precision: str, given: float | None) -> PeakRate | None:
    """What the operator gave, else the table's; None where nobody knows."""
    if given is not None:
        return PeakRate(card or "this card", precision, given, GIVEN)
    return peak_of(card, precision)
