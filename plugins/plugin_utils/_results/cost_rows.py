# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Rows of a report about money: each figure with where it comes from."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._cost.prices import Prices
from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity

COLUMNS = ("figure", "value", "where it comes from")
MEASURED, ENTERED = "measured", "entered"
_PART_OF_A_CENT = 1e-9


def row(figure: str, value: object, origin: str) -> dict[str, Any]:
    return dict(zip(COLUMNS, (figure, value, origin)))


def money(amount: float, prices: Prices) -> str:
    whole_cents = amount >= 1 or abs(amount - round(amount, 2)) < _PART_OF_A_CENT
    return f"{f'{amount:,.2f}' if whole_cents else quantity(amount)} {prices.currency}"


def with_share(seconds: float, whole: float) -> str:
    return f"{duration(seconds)} ({seconds / whole:.1%})" if whole else duration(seconds)


def duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 120 else f"{minutes // 60} h {minutes % 60:02} min"
