# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a site pays: entered by its people, and never guessed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._errors import GaudiError

# As ISO 4217 has it; which of them exist is no business of ours.
_CURRENCY = re.compile("[A-Z]{3}")
_HOURS_A_YEAR = 8766.0


@dataclass(frozen=True)
class Capital:
    """A server that was bought: ``price`` less ``residual`` of it, over ``years`` in which it works ``utilization``."""

    price: float
    years: float
    utilization: float
    residual: float = 0.0

    def an_hour(self) -> float:
        """Of a node's work."""
        return self.price * (1 - self.residual) / (self.years * _HOURS_A_YEAR * self.utilization)


@dataclass(frozen=True)
class Prices:
    """``node_hour`` is what a node costs an hour, rented; without ``kwh`` energy is told and not paid.

    ``pue`` is what the building takes for each watt of its servers; ``overhead_watts`` is what a server takes beside
    its cards. None where nobody has said it, and then it is in no figure.
    """

    currency: str
    node_hour: float | None = None
    capital: Capital | None = None
    kwh: float | None = None
    pue: float | None = None
    overhead_watts: float | None = None

    def a_node_hour(self) -> float:
        """Rented or bought, without energy."""
        if self.capital:
            return self.capital.an_hour()
        return self.node_hour or 0.0

    def a_joule(self) -> float | None:
        """Of a card, with what the building takes."""
        return None if self.kwh is None else self.kwh * (self.pue or 1.0) / 3.6e6


def prices_from(given: Mapping[str, Any]) -> Prices:
    """The options ``currency``, ``node_hour``, ``capital``, ``kwh``, ``pue`` and ``overhead_watts``; GaudiError for
    what nobody can mean.
    """
    currency = str(given.get("currency") or "")
    if not _CURRENCY.fullmatch(currency):
        raise GaudiError(f"currency is {currency!r:.20}; give the three-letter code of the currency, such as EUR.")
    capital = given.get("capital") or None
    node_hour = _number("node_hour", given.get("node_hour"))
    if (node_hour is None) == (capital is None):
        said = "both given" if capital else "not given, and neither is capital"
        raise GaudiError(
            f"node_hour is {said}; give what a node costs an hour, or capital with price, years and utilization."
        )
    kwh, pue = _number("kwh", given.get("kwh")), _number("pue", given.get("pue"))
    if pue is not None and pue < 1:
        raise GaudiError(f"pue is {pue:g}, but it is at least 1; give the building's power divided by its servers'.")
    if capital is not None and kwh is None:
        raise GaudiError(
            "kwh is not given, but with a purchase price the power is priced separately; give the price of a kWh."
        )
    return Prices(
        currency,
        node_hour,
        None if capital is None else _capital(capital),
        kwh,
        pue,
        _number("overhead_watts", given.get("overhead_watts")),
    )


def _capital(given: Mapping[str, Any]) -> Capital:
    missing = [name for name in ("price", "years", "utilization") if given.get(name) is None]
    if missing:
        raise GaudiError(f"capital lacks {' and '.join(missing)}; give price, years and utilization (0 to 1).")
    found = {name: _number(f"capital.{name}", given.get(name)) or 0.0 for name in ("price", "years", "utilization")}
    residual = _number("capital.residual", given.get("residual")) or 0.0
    for name in ("years", "price"):
        if not found[name]:
            raise GaudiError(f"capital.{name} is 0; give a number above 0.")
    if not 0 < found["utilization"] <= 1:
        raise GaudiError(
            f"capital.utilization is {found['utilization']:g}; give the fraction of the time in which a server works, "
            "above 0 and at most 1."
        )
    if residual >= 1:
        raise GaudiError(f"capital.residual is {residual:g}; give the fraction of the price that is left, below 1.")
    return Capital(found["price"], found["years"], found["utilization"], residual)


def _number(name: str, value: Any) -> float | None:
    if value is None or value == "":
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise GaudiError(f"{name} is {value!r:.40}; give a number.") from None
    if not 0 <= number < 1e15:
        raise GaudiError(f"{name} is {number:g}; give a number of 0 or more.")
    return number
