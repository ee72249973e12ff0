# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How busy a node's cards are, how full, and what they draw, from one question to ``hl-smi``."""

from __future__ import annotations

from typing import Collection

from gaudi3_scale.core._cards.hl_smi import number, parse_query
from gaudi3_scale.core._node.commands import Run

# power.draw covers the 54 V rail only; the tool's table adds the 12 V rail.
USAGE_FIELDS = ("bus_id", "module_id", "memory.used", "utilization.aip", "power.draw")
MIB = 1 << 20


def ask_cards(run: Run, timeout: float, modules: Collection[int] = ()) -> dict[str, list[int | None]]:
    """Per cent, bytes and watts, a value a card in the order of the module ids; empty where there is no answer.

    ``modules``: those of a job that has not all cards; another job's load and power are not its own.
    """
    rows = parse_query(run(["hl-smi", "-Q", ",".join(USAGE_FIELDS), "-f", "csv"], timeout=timeout).stdout)
    rows = [row for row in rows if not modules or number(row.get("module_id")) in modules]
    rows.sort(key=lambda row: (number(row.get("module_id")) or 0, row.get("bus_id") or ""))
    if not rows:
        return {}
    memory = [number(row.get("memory.used")) for row in rows]
    return {
        "utilization": [number(row.get("utilization.aip")) for row in rows],
        "memory_bytes": [None if one is None else one * MIB for one in memory],
        "watts": [number(row.get("power.draw")) for row in rows],
    }
