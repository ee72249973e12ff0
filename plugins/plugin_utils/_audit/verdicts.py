# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What an audit says of one item. A pass holds what was measured: without it there is none to be made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Measured:
    """``value`` is true, false or a number in the item's unit; ``seen`` is where it was read, for a person."""

    value: bool | float
    seen: str


@dataclass(frozen=True)
class Passed:
    measured: Measured

    def __post_init__(self) -> None:
        _require(self.measured)


@dataclass(frozen=True)
class Failed:
    """``why`` in a clause, such as "0.4, and 0.85 is asked for by a guide"."""

    measured: Measured
    why: str

    def __post_init__(self) -> None:
        _require(self.measured)


@dataclass(frozen=True)
class Unknown:
    """Nothing was measured, or there is nothing to hold it against."""

    why: str


Verdict = Union[Passed, Failed, Unknown]


def _require(measured: object) -> None:
    """For whoever is not checked by types."""
    if not isinstance(measured, Measured):
        raise TypeError(f"a verdict needs what was measured, not {measured!r}")
