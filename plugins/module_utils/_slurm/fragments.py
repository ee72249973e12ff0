# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The lines for slurm.conf and gres.conf, and what stands in their way; pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .._errors import GaudiError
from .configuration import Configuration
from .node import SlurmNode

GRES = "hpu"
SLURM, GRES_FILE = "gaudi3_scale.conf", "gaudi3_scale_gres.conf"
_HEADING = "# Written by gaudi3.scale; what is changed here is lost. Options: roles/gaudi_slurm.\n"
# With all of a node's states, also that of a job: the check disturbs none. One node after the other, not all at once.
_STATES = "ANY,CYCLE"


@dataclass(frozen=True)
class Wanted:
    """``health_check`` and ``task_prolog``: programs, or nothing; ``interval`` in seconds."""

    nodes: Sequence[SlurmNode]
    health_check: str
    interval: int
    task_prolog: str


def slurm_text(wanted: Wanted, site: Configuration) -> str:
    """Our part of slurm.conf; raises GaudiError where the site's says the same otherwise."""
    _refuse_foreign(wanted, site)
    lines = [] if _has_gres(site) else [f"GresTypes={GRES}"]
    if wanted.health_check:
        lines += [
            f"HealthCheckProgram={wanted.health_check}",
            f"HealthCheckInterval={wanted.interval}",
            f"HealthCheckNodeState={_STATES}",
        ]
    lines += [f"TaskProlog={wanted.task_prolog}"] if wanted.task_prolog else []
    return _HEADING + "".join(f"{line}\n" for line in [*lines, *map(_node_line, _with_cards(wanted))])


def gres_text(wanted: Wanted) -> str:
    """Our part of gres.conf: the cards' files, or their number where they have none."""
    return _HEADING + "".join(f"{_gres_line(node)}\n" for node in _with_cards(wanted))


def require_include(site: Configuration, ours: str) -> None:
    """Raises GaudiError where the site's file does not take ours."""
    if ours not in site.includes:
        raise GaudiError(
            f"{site.path} does not include {ours}, and nothing else of it is changed here; add the line "
            f"`Include {ours}` to it, on every host that has it."
        )


def _with_cards(wanted: Wanted) -> list[SlurmNode]:
    return sorted((node for node in wanted.nodes if node.cards), key=lambda node: node.name)


def _node_line(node: SlurmNode) -> str:
    processors = " ".join(f"{name}={number}" for name, number in node.processors.items())
    memory = f" RealMemory={node.memory_mib}" if node.memory_mib else ""
    return f"NodeName={node.name} {processors}{memory} Gres={GRES}:{node.cards} State=UNKNOWN"


def _gres_line(node: SlurmNode) -> str:
    what = f"File={','.join(node.devices)}" if node.devices else f"Count={node.cards}"
    return f"NodeName={node.name} Name={GRES} {what}"


def _has_gres(site: Configuration) -> bool:
    return any(GRES in re.split(r"\s*,\s*", line.value) for line in site.named("GresTypes"))


def _refuse_foreign(wanted: Wanted, site: Configuration) -> None:
    """Slurm takes one of two alike, and not always the same one."""
    for line in site.named("GresTypes"):
        if not _has_gres(site):
            raise GaudiError(
                f"GresTypes={line.value} stands in {line.place}; write GresTypes={line.value},{GRES} there."
            )
    once = {"HealthCheckProgram": wanted.health_check, "TaskProlog": wanted.task_prolog}
    for name, value in once.items():
        for line in site.named(name) if value else ():
            raise GaudiError(
                f"{name}={line.value} stands in {line.place}; take it out, or leave ours out "
                f"(gaudi_slurm_{'health_check: false' if name.startswith('Health') else 'task_prolog: empty'})."
            )
    ours = {node.name for node in _with_cards(wanted)}
    for line in site.named("NodeName"):
        name = line.value.split()[0] if line.value else ""
        both = sorted(ours & set(_hosts(name)))
        if both:
            raise GaudiError(
                f"NodeName={name} stands in {line.place}, and {both[0]} is to get its line, with Gres and RealMemory, "
                "from here; take it out there, or leave the node out of gaudi_slurm_hosts."
            )


def _hosts(expression: str) -> list[str]:
    """``node[01-03,7],other`` as names; what is not understood is itself."""
    found: list[str] = []
    for part in re.findall(r"[^,\[]+(?:\[[^\]]*\])?", expression):
        head, bracket, inside = part.partition("[")
        if not bracket:
            found.append(part)
            continue
        for piece in inside.rstrip("]").split(","):
            low, _dash, high = piece.partition("-")
            last = high or low
            if low.isdigit() and last.isdigit() and int(last) - int(low) < 10_000:
                found += [f"{head}{number:0{len(low)}d}" for number in range(int(low), int(last) + 1)]
    return found
