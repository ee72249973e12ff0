# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""A change of a node as a list of steps, which check mode shows and a run takes one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

Context = TypeVar("Context")
# What each action does. It raises GaudiError with its reason, and what it learns for later steps stays in the context.
Effects = Mapping[str, Callable[["Step", Context], None]]


@dataclass(frozen=True)
class Step:
    """One thing to do, in the order of ``names``: packages, kernels, modules, units, cards, or a number to find."""

    action: str
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join((self.action, *self.names))


def take(step: Step, effects: Effects[Context], context: Context) -> None:
    """Do one step; raises :class:`GaudiError` with its reason."""
    effects[step.action](step, context)
