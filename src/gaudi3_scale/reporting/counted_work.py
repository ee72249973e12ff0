# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a program counts of its steps, and how much a second that is. Standard library only."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Callable, Mapping

from gaudi3_scale.core._cards.peak_rates import PeakRate, gaudi_label, peak_of
from gaudi3_scale.metrics.utilization import Utilization, share_or_reason

# A program does not say in which it trains: the one of autocast, which all guides to Gaudi turn on.
PRECISION = "bf16"
FLOPS = "flops"


class CountedWork:
    """Sums since the last line.

    ``real`` makes a plain number of one, ``no_number`` tells of what is none, and ``say`` a sentence, once.
    """

    def __init__(
        self,
        world_size: int,
        real: Callable[[str, object], float | None],
        no_number: Callable[[str, object], None],
        say: Callable[[str, str], None],
    ) -> None:
        self._world_size = world_size
        self._real = real
        self._no_number = no_number
        self._say = say
        self._sums: dict[str, Any] = {}

    def forget(self) -> None:
        self._sums = {}

    def add(self, counts: Mapping[str, Any]) -> None:
        """Also PyTorch's numbers, which are not read before they are written; what is no number is said."""
        for what, value in counts.items():
            if value is None:
                continue
            try:
                total = self._sums.get(what, 0) + value
            except Exception:
                total = None
            if total is None or isinstance(value, bool):
                self._no_number(what, value)
            else:
                self._sums[what] = total

    def speeds(self, seconds: float) -> dict[str, float]:
        """Of all ranks, which are taken to have as much to do as this one."""
        rates: dict[str, float] = {}
        for what, value in self._sums.items():
            number = self._real(what, value)
            if number is None:
                continue
            if what == FLOPS:
                rates.update(self._share_of_peak(number, seconds))
            else:
                rates[f"{what}_per_second"] = round(self._world_size * number / seconds, 1)
                rates[f"{what}_per_second_per_card"] = round(number / seconds, 1)
        return rates

    def _share_of_peak(self, flops: float, seconds: float) -> dict[str, float]:
        """Of this rank's card; nothing where its peak is not known."""
        if self._peak is None:
            return {}
        share, refused = share_or_reason(Utilization(flops, self._peak), seconds)
        if refused:
            self._say(FLOPS, refused)
        return {} if share is None else {"mfu": round(share, 4)}

    @cached_property
    def _peak(self) -> PeakRate | None:
        """Looked for once, where a program counts."""
        return peak_of(gaudi_label(), PRECISION)
