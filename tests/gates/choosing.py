# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which gates a run has: all of it, or the named ones with what they need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .gate import FIRST, LONG_RUN, NODES_RUN, Gate

RUNS = (FIRST, NODES_RUN, LONG_RUN)
# What leaves the nodes as most gates find them; a gate that is chosen alone gets them in a quicker way.
SITE = "site"


class UnknownGateError(Exception):
    """A name that no gate has."""


def of_run(gates: Sequence[Gate], name: str) -> list[Gate]:
    """The gates of a run; in the long one with every row, and a role's scenario only in the gate of all layers."""
    if name == LONG_RUN:
        whole = [gate.long_form or gate for gate in gates]
        return [gate for gate in whole if not gate.name.startswith("molecule-")]
    return [gate for gate in gates if RUNS.index(gate.run) <= RUNS.index(name)]


def long_forms(gates: Sequence[Gate]) -> list[Gate]:
    """What only the long run plays: gates with rows of it, and those that are nothing else."""
    return [gate.long_form or gate for gate in gates if gate.long_form or gate.run == LONG_RUN]


def named(gates: Sequence[Gate], names: Sequence[str], bring_nodes: Gate, *, long: bool) -> list[Gate]:
    """The gates of these names with what they need, in the table's order; raises UnknownGateError."""
    unknown = [name for name in names if not any(_is_named(gate.name, name) for gate in gates)]
    if unknown:
        known = ", ".join(gate.name for gate in gates)
        raise UnknownGateError(f"There is no gate named {', '.join(unknown)}; the gates are {known}.")
    chosen = {gate.name for gate in gates if any(_is_named(gate.name, name) for name in names)}
    by_name = {gate.name: gate for gate in gates}
    brings = False
    missing = [*chosen]
    while missing:
        for need in by_name[missing.pop()].needs:
            if need == SITE and SITE not in chosen:
                brings = True
            elif need not in chosen:
                chosen.add(need)
                missing.append(need)
    found = [(gate.long_form or gate) if long else gate for gate in gates if gate.name in chosen]
    if brings:
        found = [replace(gate, needs=(*gate.needs, bring_nodes.name)) if SITE in gate.needs else gate for gate in found]
    first_on_nodes = next((at for at, gate in enumerate(found) if SITE in gate.needs), 0)
    return [*found[:first_on_nodes], *([bring_nodes] if brings else []), *found[first_on_nodes:]]


def _is_named(gate: str, name: str) -> bool:
    return gate == name or gate.startswith(f"{name}-")
