# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Whether the options that rollouts of the driver and of the firmware share can be meant; pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

ADAPTERS = ("none", "slurm", "commands")


def canary_refusals(option: str, canary: str, hosts: Sequence[str]) -> Iterator[str]:
    """A sentence where ``canary``, which the operator has in ``option``, is not one of the ``hosts`` of the run."""
    if canary and canary not in hosts:
        yield f"{option} is {canary}, which is not a host of this run; use one of {', '.join(hosts)}."


def drain_refusals(option: str, drain: str) -> Iterator[str]:
    """A sentence where ``drain``, which the operator has in ``option``, is nothing that keeps nodes busy."""
    if drain not in ADAPTERS:
        yield f"{option} is {drain}; it must be none, slurm or commands."
