# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Platforms with what was measured on them, and the cost of a training on each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gaudi3_scale.core._cost.platforms import platforms_from, share_of, tokens_from, unlike, without_energy
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.cost.comparison import CostComparison


class CostAnalyzer:
    """Knows the platforms that you give it, and no figure of its own.

    ``platforms`` maps a name to a dictionary: ``source`` (who measured, where and when), ``nodes``,
    ``tokens_per_second`` of all nodes, their power ``watts`` if it is known, and the prices ``node_hour``, or
    ``capital`` with ``price``, ``years`` and ``utilization``; ``kwh`` and ``pue``. All in one ``currency``.
    """

    def __init__(self, currency: str, platforms: Mapping[str, Mapping[str, Any]]) -> None:
        """GaudiError for a platform without a source, in another currency, or with prices that nobody can mean."""
        given = [{**one, "name": name} for name, one in platforms.items()]
        self.currency = currency
        self._platforms = {one.name: one for one in platforms_from(given, currency)}

    def compare_training_cost(
        self,
        *,
        dataset_tokens: str | float,
        model_size: str = "",
        platforms: Sequence[str] | None = None,
        include_energy: bool = True,
    ) -> CostComparison:
        """What ``dataset_tokens`` (``"1T"``, ``"300B"`` or a number) cost on each of ``platforms``, by default on all.

        ``model_size`` is for the heading alone: the rates are those of your measurements, whatever the model was.
        Where a platform has no ``kwh``, its power is in the price of its nodes. GaudiError where one has ``kwh`` and no
        ``watts`` beside others whose power is known.
        """
        asked = list(self._platforms) if platforms is None else list(platforms)
        unknown = [name for name in asked if name not in self._platforms]
        if unknown:
            known = ", ".join(self._platforms) or "none"
            raise GaudiError(
                f"platforms has {unknown[0]!r}, of which nothing was measured; give it to CostAnalyzer, which knows "
                f"{known}."
            )
        tokens = tokens_from(dataset_tokens)
        shares = [share_of(self._platforms[name], tokens) for name in asked]
        lacking = unlike(shares)
        if include_energy and lacking:
            raise GaudiError(
                f"platforms has {lacking} with kwh and without watts beside others whose power is in their total; give "
                "its watts, or ask with include_energy=False."
            )
        return CostComparison(
            tokens, model_size, self.currency, tuple(shares if include_energy else map(without_energy, shares))
        )
