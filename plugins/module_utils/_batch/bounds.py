# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The bounds of a search for a batch size, and what it says: the next size, or the answer; pure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Sequence

from .._errors import GaudiError
from .memory_model import Prior
from .refusals import without_size

# The part of a card's memory that a process gets at least: the driver and the graph compiler keep some of it.
OF_A_CARD = 0.95


@dataclass(frozen=True)
class Bounds:
    """The sizes that are allowed and the memory there is; ``limit_bytes`` None: as the trials say, or not known.

    ``card_bytes`` is what cards of its kind have, for the first trial alone, before one told what is left of that.

    ``target_hpu_utilization`` is the part of the memory that may be used at all. ``margin`` is the part of what is then
    left for the batch, beside the resting memory, that stays free. ``tolerance``: the search ends when the answer is
    this near to the largest size that keeps them.
    """

    maximum: int
    multiple_of: int = 1
    minimum: int = 1
    limit_bytes: int | None = None
    target_hpu_utilization: float = 1.0
    margin: float = 0.01
    tolerance: float = 0.015
    prior: Prior | None = None
    card_bytes: int | None = None

    def check(self) -> None:
        """Raises GaudiError, in a sentence, for bounds that hold no size and for parts that are none."""
        sentence = without_size(self.minimum, self.maximum, self.multiple_of)
        if sentence:
            raise GaudiError(sentence)
        if not 0 < self.target_hpu_utilization <= 1:
            raise GaudiError(
                f"target_hpu_utilization is {self.target_hpu_utilization:g}; give a fraction of the memory, above "
                "0 and up "
                "to 1."
            )
        for name, part in (("margin", self.margin), ("tolerance", self.tolerance)):
            if not 0 <= part < 0.5:
                raise GaudiError(f"{name} is {part:g}; give a fraction from 0 to below 0.5.")

    @property
    def smallest(self) -> int:
        return -(-self.minimum // self.multiple_of) * self.multiple_of

    @property
    def largest(self) -> int:
        return self.maximum // self.multiple_of * self.multiple_of

    def allows(self, size: int) -> bool:
        return self.smallest <= size <= self.largest and size % self.multiple_of == 0

    def down(self, size: float) -> int:
        """The largest allowed size up to ``size``, or the smallest of all."""
        if size >= self.largest:
            return self.largest
        return max(self.smallest, math.floor(size / self.multiple_of + 1e-9) * self.multiple_of)

    def limit(self, reported: Sequence[int | None]) -> int | None:
        """The memory that there is: the least that anybody tells, since a neighbor may have some of it."""
        limits = [limit for limit in (self.limit_bytes, *reported) if limit]
        return min(limits) if limits else None

    def first_limit(self, reported: Sequence[int | None]) -> float | None:
        """The same before any trial ran, where the kind of the card may have to do."""
        known = self.limit(reported)
        return self.card_bytes * OF_A_CARD if known is None and self.card_bytes else known


@dataclass(frozen=True)
class Try:
    """The next size, and why that one."""

    batch_size: int
    why: str


@dataclass(frozen=True)
class Answer:
    """A size that ran and left the margin. ``certified``: no larger allowed one does, for the reason in ``why``.

    ``within`` is the part of the true limit, margin and all, by which the answer may be below it; None: not known.
    """

    batch_size: int
    certified: bool
    within: float | None
    why: str
