# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-smi topo -c -N``: which processors and which memory are near each card."""

from __future__ import annotations

from collections.abc import Sequence

from ..numa import processors
from ..readings import CardReading


def page(readings: Sequence[CardReading], cpus: int, *, numa: bool) -> str:
    """One line a card, by module id. Half of the real machine's processors play each NUMA node."""
    heads = ["modID   CPU Affinity", "-----   ------------"]
    if numa:
        heads = [f"{heads[0]}    NUMA Affinity", f"{heads[1]}    -------------"]
    lines = list(heads)
    for reading in sorted(readings, key=lambda reading: reading.card.module_id):
        near = reading.card.numa_node
        line = f"{reading.card.module_id}       {_processors(near, cpus)}"
        lines.append(f"{line:<28}{near}" if numa else line)
    return "\n".join(lines)


def _processors(numa_node: int, cpus: int) -> str:
    near = processors(numa_node, cpus) or range(cpus)
    return f"{near[0]}-{near[-1]}"
