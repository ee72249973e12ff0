# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whose clock is off: what the nodes' clocks showed while the controller asked them, held against each other; pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# What the action of hpu_verify leaves beside what the module returned.
CONTROLLER_CLOCK = "controller_clock"
CONTROLLER = "the controller"
_REMEDY = "set its clock (gaudi_host_time_sync, `chronyc makestep`)"


@dataclass(frozen=True)
class Seen:
    """A clock is between ``low`` and ``high`` seconds ahead of the controller's; ``limit`` is how far it may be."""

    low: float
    high: float
    limit: float

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2

    def agrees(self, other: Seen) -> bool:
        """Whether both can show the same time, as far as the limit goes."""
        limit = max(self.limit, other.limit)
        return self.low - other.high <= limit and other.low - self.high <= limit


@dataclass(frozen=True)
class Clocks:
    """A sentence for each node whose clock is off, and for all what nobody can say of one of them."""

    off: Mapping[str, str]
    notes: Sequence[str] = ()


def seen(asked: float, began: object, ended: object, answered: float, limit: float) -> Seen | None:
    """By the controller's time when it asked and had the answer, and the node's when its module began and ended.

    None where the node told no times.
    """
    if not (_is_time(began) and _is_time(ended)) or ended < began:  # type: ignore[operator]
        return None
    return Seen(float(ended) - answered, float(began) - asked, limit)  # type: ignore[arg-type]


def judge_clocks(clocks: Mapping[str, Seen]) -> Clocks:
    """More than half of all clocks, the controller's among them, are right where they agree."""
    known = {**clocks, CONTROLLER: Seen(0.0, 0.0, 0.0)}
    together = {name: [other for other in known if known[other].agrees(one)] for name, one in known.items()}
    right = max(together.values(), key=len)
    if len(right) == len(known):
        return Clocks({})
    if 2 * len(right) <= len(known):
        apart = ", ".join(f"{name} {span(one)}" for name, one in clocks.items() if CONTROLLER not in together[name])
        return Clocks({}, [f"clocks differ, and it is unknown which is correct: {apart}."] if apart else [])
    middle = sorted(known[name].middle for name in right)[len(right) // 2]
    off = {
        name: f"its clock is {_ahead(one.middle - middle)} that of {_most(right)}; {_REMEDY}."
        for name, one in clocks.items()
        if name not in right
    }
    return Clocks(
        off,
        [] if CONTROLLER in right else [f"the controller's own clock is {_ahead(-middle)} that of most nodes."],
    )


def span(one: Seen) -> str:
    """``3600 s ahead of the controller``."""
    return f"{_ahead(one.middle)} the controller's"


def _ahead(seconds: float) -> str:
    return f"{abs(seconds):.0f} s {'ahead of' if seconds > 0 else 'behind'}"


def _most(right: Sequence[str]) -> str:
    return "the controller and of the other nodes" if CONTROLLER in right and len(right) > 1 else "the other nodes"


def clocks_of(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Seen]:
    """Of the nodes whose result of ``hpu_verify`` has them."""
    found = {}
    for node, result in results.items():
        told = result.get(CONTROLLER_CLOCK)
        if isinstance(told, Mapping) and all(_is_time(told.get(name)) for name in ("low", "high", "limit")):
            found[node] = Seen(told["low"], told["high"], told["limit"])
    return found


def _is_time(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
