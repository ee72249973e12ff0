# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The lines for slurm.conf and gres.conf, and what is in their way; pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .._errors import GaudiError
from .configuration import Configuration, Line
from .gres import HPU, OPTION, Gres, has_name, record
from .host_lists import expand
from .node import SlurmNode

SLURM, GRES_FILE = "gaudi3_scale.conf", "gaudi3_scale_gres.conf"
_HEADING = "# Written by gaudi3.scale; changes made here are lost. Options: roles/gaudi_slurm.\n"
# With all of a node's states, also that of a job: the check disturbs none. One node after the other, not all at once.
_STATES = "ANY,CYCLE"


@dataclass(frozen=True)
class Wanted:
    """``health_check`` and ``task_prolog``: programs, or nothing; ``interval``: seconds; ``gres``: the cards' name."""

    nodes: Sequence[SlurmNode]
    health_check: str
    interval: int
    task_prolog: str
    gres: Gres = HPU


def slurm_text(wanted: Wanted, site: Configuration) -> str:
    """Our part of slurm.conf; raises GaudiError where the site's says the same otherwise."""
    _refuse_foreign(wanted, site)
    lines = [] if has_name(site, wanted.gres) else [f"GresTypes={wanted.gres.name}"]
    if wanted.health_check:
        lines += [
            f"HealthCheckProgram={wanted.health_check}",
            f"HealthCheckInterval={wanted.interval}",
            f"HealthCheckNodeState={_STATES}",
        ]
    lines += [f"TaskProlog={wanted.task_prolog}"] if wanted.task_prolog else []
    lines += [_node_line(node, wanted.gres) for node in _with_cards(wanted)]
    return _HEADING + "".join(f"{line}\n" for line in lines)


def gres_text(wanted: Wanted, site: Configuration | None = None) -> str:
    """Our part of gres.conf: the cards' files, or their number where they have none. Raises GaudiError where the site's
    gres.conf has these cards already.
    """
    if site:
        _refuse_foreign_cards(wanted, site)
    return _HEADING + "".join(f"{_gres_line(node, wanted.gres)}\n" for node in _with_cards(wanted))


def require_include(site: Configuration, ours: str) -> None:
    """Raises GaudiError where the site's file does not take ours."""
    if not site.takes(ours):
        raise GaudiError(
            f"{site.path} does not include {ours}, and nothing else of it is changed here; add the line "
            f"`Include {ours}` to it, on every host that has it."
        )


def _with_cards(wanted: Wanted) -> list[SlurmNode]:
    return sorted((node for node in wanted.nodes if node.cards), key=lambda node: node.name)


def _node_line(node: SlurmNode, gres: Gres) -> str:
    processors = " ".join(f"{name}={number}" for name, number in node.processors.items())
    memory = f" RealMemory={node.memory_mib}" if node.memory_mib else ""
    return f"NodeName={node.name} {processors}{memory} Gres={gres}:{node.cards} State=UNKNOWN"


def _gres_line(node: SlurmNode, gres: Gres) -> str:
    kind = f"Name={gres.name} Type={gres.type}" if gres.type else f"Name={gres.name}"
    what = f"File={','.join(node.devices)}" if node.devices else f"Count={node.cards}"
    return f"NodeName={node.name} {kind} {what}"


def _refuse_foreign(wanted: Wanted, site: Configuration) -> None:
    """Slurm takes one of two alike, and not always the same one."""
    for line in site.named("GresTypes"):
        if not has_name(site, wanted.gres):
            raise GaudiError(
                f"GresTypes={line.value} is set in {line.place}; write GresTypes={line.value},{wanted.gres.name} there."
                f" Where the cards have another name already, set {OPTION} to it."
            )
    once = {"HealthCheckProgram": wanted.health_check, "TaskProlog": wanted.task_prolog}
    for name, value in once.items():
        for line in site.named(name) if value else ():
            raise GaudiError(
                f"{name}={line.value} is set in {line.place}; remove it there, or leave ours out "
                f"(gaudi_slurm_{'health_check: false' if name.startswith('Health') else 'task_prolog: empty'})."
            )
    ours = {node.name for node in _with_cards(wanted)}
    for entry in site.nodes():
        both = sorted(ours & set(entry.names))
        if both:
            raise GaudiError(
                f"NodeName={entry.line.value} is set in {entry.line.place}, and {both[0]} gets its line, with Gres and "
                "RealMemory, from this role; remove it there, or leave the node out of gaudi_slurm_hosts."
            )


def _refuse_foreign_cards(wanted: Wanted, site: Configuration) -> None:
    for line in [*site.named("NodeName"), *site.named("Name")]:
        given = record(line)
        both = sorted({node.name for node in _with_cards(wanted)} & set(_nodes_of(line, wanted)))
        if given.get("name") == wanted.gres.name and both:
            whose = f"NodeName={line.value} " if line.name == "nodename" else ""
            raise GaudiError(
                f"{whose}Name={given['name']} is set in {line.place}, and the cards of {both[0]} get their line from "
                "this role; remove it there, or leave the node out of gaudi_slurm_hosts."
            )


def _nodes_of(line: Line, wanted: Wanted) -> list[str]:
    """A line of gres.conf without ``NodeName=`` is for all nodes."""
    return expand(line.value) if line.name == "nodename" else [node.name for node in wanted.nodes]
