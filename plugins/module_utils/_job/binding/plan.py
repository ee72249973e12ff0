# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which processors each rank of a node may run on: a table, made of values alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from ..._errors import GaudiError
from .cpus import cpus_text
from .topology import Core

NUMA, CORES, NONE = "numa", "cores", "none"
BINDINGS = (NUMA, CORES, NONE)


@dataclass(frozen=True)
class RankBinding:
    """What one rank may use. ``cores`` counts physical cores; ``numa_node`` None: several, or sysfs names none."""

    local_rank: int
    cpus: tuple[int, ...]
    cores: int
    numa_node: int | None

    def as_dict(self) -> dict[str, object]:
        """As plain values, with the processors as the kernel and taskset write them."""
        return {
            "local_rank": self.local_rank,
            "numa_node": self.numa_node,
            "cpus": cpus_text(self.cpus),
            "cores": self.cores,
        }


def check_bind(bind: str) -> None:
    """Refuse a binding that is none of the three."""
    if bind not in BINDINGS:
        raise GaudiError(f"bind {bind!r} (gaudi_training_bind) is not known; give one of {', '.join(BINDINGS)}.")


def bind_ranks(bind: str, cores: Sequence[Core], nodes: Sequence[int | None], host: str) -> tuple[RankBinding, ...]:
    """The binding of each local rank; ``nodes`` has the NUMA node of each rank's card.

    ``numa``: the ranks whose cards are at one NUMA node share its cores. Where that node is not known of a card, it is
    as with ``cores``: all cores are dealt out in the order of the ranks. Ranks at one set of cores differ by one core
    at most. Raises GaudiError, naming ``host``, where a rank would have no core.
    """
    # More ranks than cores are a case for neither.
    others = (CORES, NONE) if bind == NUMA and len(cores) >= len(nodes) else (NONE,)
    start, end = (
        f"bind is {bind} (gaudi_training_bind), but",
        f"set it to {' or '.join(others)}, or start fewer ranks there",
    )
    are_unknown = None in nodes or all(core.numa_node is None for core in cores)
    if bind == CORES or are_unknown:
        groups = {host: (list(range(len(nodes))), cores)}
    else:
        groups = {f"NUMA node {node} of {host}": _near(node, cores, nodes) for node in nodes}
    bindings: list[RankBinding] = []
    for place, (ranks, own) in groups.items():
        if len(own) < len(ranks):
            there = f"{len(own)} core(s){f' (CPUs {_text(own)})' if own else ''} that the job may use"
            who = f"{len(ranks)} ranks that belong there" if len(ranks) > 1 else f"local rank {ranks[0]}"
            raise GaudiError(f"{start} {place} has {there} for {who}; {end} (processes_per_node).")
        bindings += _bound(ranks, own)
    return tuple(sorted(bindings, key=lambda binding: binding.local_rank))


def _near(node: int | None, cores: Sequence[Core], nodes: Sequence[int | None]) -> tuple[list[int], Sequence[Core]]:
    """The ranks and the cores of one NUMA node."""
    return [rank for rank, near in enumerate(nodes) if near == node], [core for core in cores if core.numa_node == node]


def spread(ranks: int, cores: Sequence[Core]) -> tuple[int | None, ...]:
    """The NUMA node of each of so many ranks without cards: evenly over the nodes, neighbors together."""
    nodes = list(dict.fromkeys(core.numa_node for core in cores))
    return tuple(nodes[rank * len(nodes) // ranks] if nodes else None for rank in range(ranks))


def _bound(ranks: Sequence[int], cores: Sequence[Core]) -> list[RankBinding]:
    least, more = divmod(len(cores), len(ranks))
    bindings, first = [], 0
    for place, rank in enumerate(ranks):
        own = cores[first : first + least + (place < more)]
        first += len(own)
        numa_nodes = {core.numa_node for core in own}
        cpus = tuple(sorted(cpu for core in own for cpu in core.cpus))
        bindings.append(RankBinding(rank, cpus, len(own), numa_nodes.pop() if len(numa_nodes) == 1 else None))
    return bindings


def _text(cores: Sequence[Core]) -> str:
    return cpus_text(cpu for core in cores for cpu in core.cpus)
