# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is not as it is to be on a node, over all of its instances."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

from .._errors import GaudiError
from .._job.cards_in_use import Asker, claims, node_cards
from .._job.port_holder import holder_of
from .._node.commands import Run
from .._node.rendered_files import FileChange, pending
from .._node.systemd_units import is_active, is_enabled
from .cards import choose_modules
from .control import Control, ServingPaths
from .engines import Engine
from .instance import OPTION, Instance
from .options import STARTED, ServingOptions
from .plan import WantedInstance, beside, wanted_instance
from .runtime import Runtime
from .source import Source


@dataclass(frozen=True)
class Node:
    """Where a node has what: a test has its own places."""

    kernel_root: str = "/"
    proc: str = "/proc"
    paths: ServingPaths = field(default_factory=lambda: ServingPaths(""))
    state_directory: str = "/var/lib/gaudi3_scale"

    def of(self, name: str) -> ServingPaths:
        return beside(self.paths, name)


@dataclass(frozen=True)
class NodePlan:
    """``changes`` by instance; ``gone`` are those to remove, ``starts`` those to start or to start again."""

    wanted: tuple[WantedInstance, ...]
    changes: Mapping[str, list[FileChange]]
    gone: tuple[Control, ...]
    starts: tuple[str, ...]
    enables: tuple[str, ...]
    stops: tuple[str, ...]
    moved: tuple[str, ...]
    brings: bool

    @property
    def steps(self) -> list[str]:
        return [
            *(["engine"] if self.brings else []),
            *(f"model {one.source.version[:12]}" for one in self.wanted if one.source.published),
            *(f"remove {one.name}" for one in self.gone),
            *(f"file {change.wanted.path}" for changes in self.changes.values() for change in changes),
            *(f"stop {name}" for name in self.stops),
            *(f"enable {name}" for name in self.enables),
            *(f"start {name}" for name in self.starts),
        ]


def planned(
    options: ServingOptions,
    engine: Engine,
    runtime: Runtime,
    sources: Mapping[str, Source],
    before: Mapping[str, Control],
    run: Run,
    node: Node,
    brings: bool,
) -> NodePlan:
    listed = {one.name for one in options.instances}
    gone = tuple(one for one in before.values() if one.name not in listed) if not options.only else ()
    targets = options.targets
    own = tuple({one.name for one in targets} | {one.name for one in gone})
    asker = Asker(
        platform.node(),
        state_directory=node.state_directory,
        instances=own,
        instance_directory=node.paths.control_directory,
    )
    kept = {name: one.modules for name, one in before.items() if name not in own}
    cards = node_cards(asker, run, node.kernel_root, node.proc)
    modules = choose_modules(targets, cards, before, kept)
    runs = {one.name: is_active(run, node.of(one.name).unit) for one in targets}
    at_boot = {one.name: is_enabled(run, node.of(one.name).unit) for one in targets}
    for one in targets:
        # What runs at its port has it.
        if not runs[one.name] or one.name not in before or before[one.name].port != one.port:
            _refuse_port(one, asker, before, run, node)
    wanted = tuple(
        wanted_instance(
            one, options, engine, runtime, sources[one.name], modules[one.name], node.kernel_root, node.of(one.name)
        )
        for one in targets
    )
    changes = {one.instance.name: found for one in wanted if (found := pending(one.files))}
    starts: tuple[str, ...] = ()
    enables: tuple[str, ...] = ()
    stops: tuple[str, ...] = ()
    if options.state == STARTED:
        starts = tuple(name for name in runs if name in changes or not runs[name])
        enables = tuple(name for name in runs if not at_boot[name])
    else:
        stops = tuple(name for name in runs if runs[name] or at_boot[name])
    moved = tuple(
        one.instance.name
        for one in wanted
        if runs[one.instance.name] and (was := before.get(one.instance.name)) and _moves(was, one.control)
    )
    return NodePlan(wanted, changes, gone, starts, enables, stops, moved, brings)


def _moves(before: Control, after: Control) -> bool:
    """Whether it leaves what another one may be about to take."""
    return (before.modules, before.port) != (after.modules, after.port)


def _refuse_port(one: Instance, asker: Asker, before: Mapping[str, Control], run: Run, node: Node) -> None:
    place = f"{OPTION}: {one.name}: port {one.port}"
    for claim in claims(asker, run):
        if claim.port == one.port:
            raise GaudiError(f"{place} is held by job {claim.job}; give another.")
    for name, other in before.items():
        if name not in asker.instances and other.port == one.port:
            raise GaudiError(f"{place} is held by instance {name}; give another.")
    holder = holder_of(one.port, proc=node.proc)
    if holder and not any(node.of(name).unit in holder for name in asker.instances):
        raise GaudiError(f"{place} is held by {holder}; give another, or stop what has it.")
