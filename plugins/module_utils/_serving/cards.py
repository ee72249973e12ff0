# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which cards of its node an instance gets, by module id, and how much memory they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._cards.accel_sysfs import accel_devices, pci_cards
from .._cards.hardware import generation_of
from .._cards.part import NodeCards, Wanted, choose, refuse_named
from .._errors import GaudiError
from .control import Control
from .instance import OPTION, Instance


def choose_modules(
    targets: Sequence[Instance], node: NodeCards, before: Mapping[str, Control], kept: Mapping[str, Sequence[int]]
) -> dict[str, tuple[int, ...]]:
    """The modules of each, by name; ``kept`` are those of instances that stay as they are."""
    if not node.modules:
        raise GaudiError(f"{node.host} shows no card in /sys/class/accel; see whether the driver is loaded.")
    taken = {**node.taken, **{module: f"held by instance {name}" for name, has in kept.items() for module in has}}
    found: dict[str, tuple[int, ...]] = {}
    # Those that are named are not given to others.
    for one in sorted(targets, key=lambda one: not one.modules):
        place = f"{OPTION}: {one.name}"
        now = NodeCards(node.host, node.modules, dict(taken), node.together, node.board)
        if one.count > len(node.modules):
            raise GaudiError(
                f"{place}: {one.count} cards are asked for, and {node.host} has {len(node.modules)}; the plug-in for "
                "Gaudi serves on one node alone: describe one instance on each node, behind the proxy."
            )
        if one.modules:
            refuse_named(now, one.modules, f"{place}: modules")
            chosen = one.modules
        else:
            had = before[one.name].modules if one.name in before else ()
            chosen = choose([now], Wanted(one.cards, f"{place}: cards", had))
        found[one.name] = chosen
        taken.update(dict.fromkeys(chosen, f"held by instance {one.name}"))
    return found


def hbm_of(modules: Sequence[int], kernel_root: str) -> int:
    """MiB of the smallest of these cards."""
    boards = {card.pci_address: card.pci_id for card in pci_cards(kernel_root)}
    of_module = {one.module_id: boards.get(one.pci_address, "") for one in accel_devices(kernel_root)}
    known = [generation for module in modules if (generation := generation_of(of_module.get(module, "")))]
    if not known:
        raise GaudiError("the cards of this node are of no known generation, so nobody knows their memory.")
    return min(generation.hbm_mib for generation in known)
