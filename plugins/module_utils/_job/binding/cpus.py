# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Sets of processors as the kernel writes them, in the list format of cpuset(7): ``0-7,64-71``."""

from __future__ import annotations

from typing import Iterable


def parse_cpus(text: str) -> frozenset[int]:
    """The processors that a list names; empty for an empty one, as of a NUMA node without processors."""
    found: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, _dash, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def cpus_text(cpus: Iterable[int]) -> str:
    """The list of the processors, in which neighbors are one range."""
    ranges: list[list[int]] = []
    for cpu in sorted(set(cpus)):
        if ranges and cpu == ranges[-1][1] + 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)
