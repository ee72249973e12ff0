# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The same training on other machines, by figures that somebody has measured there and says where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .._errors import GaudiError
from .prices import Prices, prices_from

_SHORTEST_SOURCE = 8


@dataclass(frozen=True)
class Platform:
    """``tokens_per_second`` and ``watts`` are those of all ``nodes`` together; ``watts`` are of the whole servers.

    ``source`` says who measured them, where and when.
    """

    name: str
    source: str
    nodes: int
    tokens_per_second: float
    prices: Prices
    watts: float | None = None


@dataclass(frozen=True)
class Share:
    """What a number of tokens costs on a platform.

    ``energy`` is None where it is in no figure, or in that of ``nodes``.
    """

    platform: Platform
    hours: float
    nodes: float
    energy: float | None

    @property
    def total(self) -> float:
        return self.nodes + (self.energy or 0.0)

    @property
    def has_paid_power(self) -> bool:
        """Whether its total has its power: who rents a node without a price of a kWh pays it with the node."""
        return self.energy is not None or self.platform.prices.kwh is None

    @property
    def no_energy(self) -> str:
        """What stands where a figure of its energy would."""
        return "in nodes" if self.has_paid_power else "-"


@dataclass(frozen=True)
class Before:
    """A rate that the same training had before something was changed, and where that is written."""

    tokens_per_second: float
    source: str


def platforms_from(given: Sequence[Mapping[str, Any]], currency: str) -> list[Platform]:
    """GaudiError for one without a source, in another currency, or twice."""
    found = [_platform(one, currency) for one in given]
    names = [one.name for one in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise GaudiError(f"platforms has {' and '.join(twice)} twice; give each a unique name.")
    return found


def before_from(given: Mapping[str, Any]) -> Before | None:
    """None where nothing was given; GaudiError for a rate without a source."""
    if not given:
        return None
    rate, source = _positive(given.get("tokens_per_second")), str(given.get("source") or "").strip()
    if not rate or not source:
        raise GaudiError("before lacks tokens_per_second or source; give the measured rate and its source.")
    return Before(rate, source)


def share_of(platform: Platform, tokens: float) -> Share:
    """Of ``tokens`` at the rate that was measured."""
    hours = tokens / platform.tokens_per_second / 3600
    kwh = None if platform.watts is None else platform.watts * hours / 1000
    price = platform.prices.kwh
    energy = None if kwh is None or price is None else kwh * price * (platform.prices.pue or 1.0)
    return Share(platform, hours, hours * platform.nodes * platform.prices.a_node_hour(), energy)


def unlike(shares: Sequence[Share]) -> str | None:
    """The first whose total lacks its power beside others that have theirs, so that they cannot be compared."""
    lacking = [share.platform.name for share in shares if not share.has_paid_power]
    return lacking[0] if 0 < len(lacking) < len(shares) else None


def without_energy(share: Share) -> Share:
    """The same without what a kWh costs."""
    return replace(share, energy=None)


def tokens_from(text: object) -> float:
    """``1T``, ``300B``, ``50M`` or a number."""
    units = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
    words = str(text).strip().upper()
    try:
        tokens = float(words[:-1]) * units[words[-1]] if words[-1:] in units else float(words)
    except ValueError:
        tokens = 0.0
    if not 0 < tokens < 1e18:
        raise GaudiError(f"dataset_tokens is {str(text)!r:.40}; give a number of tokens, such as 300B or 1T.")
    return tokens


def _platform(given: Mapping[str, Any], currency: str) -> Platform:
    name = str(given.get("name") or "").strip()
    if not name:
        raise GaudiError("platforms has an entry without a name; name it.")
    source = str(given.get("source") or "").strip()
    if len(source) < _SHORTEST_SOURCE:
        raise GaudiError(
            f"platforms has {name} without a source; say who measured its figures, where and when: "
            "a vendor's claim is not a measurement."
        )
    own = str(given.get("currency") or currency)
    if own != currency:
        raise GaudiError(f"platforms has {name} in {own} beside {currency}; give all prices in one currency.")
    rate, nodes = _positive(given.get("tokens_per_second")), _positive(given.get("nodes"))
    if not rate or not nodes:
        raise GaudiError(
            f"platforms has {name} without tokens_per_second and nodes; give the measured rate and the number of nodes."
        )
    watts = _positive(given.get("watts"))
    if watts is None and given.get("watts") is not None:
        raise GaudiError(
            f"platforms has {name} with watts {given['watts']!r:.20}; give the power of all its servers, or none."
        )
    try:
        prices = prices_from({**given, "currency": currency})
    except GaudiError as refused:
        raise GaudiError(f"platforms has {name}, whose {refused}") from None
    return Platform(name, source, int(nodes), rate, prices, watts)


def _positive(value: object) -> float | None:
    """The number above 0; None for anything else."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and value > 0 else None  # type: ignore[arg-type, operator]
