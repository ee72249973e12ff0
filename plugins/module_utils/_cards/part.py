# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which cards a job takes that has fewer than its nodes: by what is free, and by what belongs together; pure.

Cards are their module ids here. A job has the same ones on each of its nodes, as one that takes whole nodes has: local
rank n is at the same place of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from .._errors import GaudiError
from .accel_sysfs import HEALTHY_STATUS, AccelDevice, PciCard
from .hardware import Board, board_of


@dataclass(frozen=True)
class NodeCards:
    """The cards of a node by module id, in their order.

    ``taken`` has a clause for each that cannot be had, such as ``held by job llama``. ``together`` has those that are
    joined by their boards, or else at one NUMA node. ``board`` names the cards where nothing joins these groups; ""
    where something does.
    """

    host: str
    modules: tuple[int, ...]
    taken: Mapping[int, str] = field(default_factory=dict)
    together: tuple[tuple[int, ...], ...] = ()
    board: str = ""

    @property
    def free(self) -> tuple[int, ...]:
        return tuple(module for module in self.modules if module not in self.taken)

    @property
    def group(self) -> int:
        """How many cards are joined; 0: all of them."""
        return max(map(len, self.together), default=0) if self.board else 0


@dataclass(frozen=True)
class Wanted:
    """``count`` cards, as ``option`` has asked for them; ``before``: those that the same job had last, if any."""

    count: int
    option: str = "processes_per_node"
    before: tuple[int, ...] = ()


def cards_of(host: str, pci: Sequence[PciCard], devices: Iterable[AccelDevice]) -> NodeCards:
    """What the kernel shows, before anybody is asked who has what: a card that does not work is taken, too."""
    by_module = {one.module_id: one for one in devices if one.module_id is not None}
    ill = {module: f"not usable ({one.status})" for module, one in by_module.items() if _is_ill(one)}
    modules = tuple(sorted(by_module))
    places = {card.pci_address: card for card in pci}
    shown = {module: places[one.pci_address] for module, one in by_module.items() if one.pci_address in places}
    groups = _groups(modules, pci)
    apart = grouped_board(pci)
    return NodeCards(host, modules, ill, groups or _numa_nodes(modules, shown), apart.label if apart else "")


def _is_ill(device: AccelDevice) -> bool:
    """A driver that tells no status tells nothing bad."""
    return device.status not in (None, HEALTHY_STATUS)


def grouped_board(cards: Sequence[PciCard]) -> Board | None:
    """The board of the cards where it joins some of them, and they have no ports of their own to the others."""
    boards = [board for card in cards if (board := board_of(card.pci_id))]
    return next((board for board in boards if board.group < len(cards) and not board.external_ports), None)


def _groups(modules: Sequence[int], cards: Sequence[PciCard]) -> tuple[tuple[int, ...], ...]:
    sizes = {board.group for card in cards if (board := board_of(card.pci_id))}
    size = min(sizes, default=0)
    if not 0 < size < len(cards):
        return ()
    return _sets(modules, {module: module // size for module in modules})


def _numa_nodes(modules: Sequence[int], cards: Mapping[int, PciCard]) -> tuple[tuple[int, ...], ...]:
    nodes = {module: card.numa_node for module, card in cards.items() if card.numa_node is not None}
    return _sets(modules, nodes) if len(nodes) == len(modules) else ()


def _sets(modules: Sequence[int], place: Mapping[int, int]) -> tuple[tuple[int, ...], ...]:
    places = sorted(set(place.values()))
    return tuple(tuple(module for module in modules if place[module] == one) for one in places)


def choose(nodes: Sequence[NodeCards], wanted: Wanted) -> tuple[int, ...]:
    """The modules to take on each of ``nodes``, in their order; raises GaudiError where there are none.

    Those of before where they are free; else of a set that belongs together, the one that is left with the fewest free
    ones, so that larger ones stay whole; else, where links join all of them, the lowest.
    """
    free = _common(nodes)
    if len(wanted.before) == wanted.count and set(wanted.before) <= set(free):
        return wanted.before
    if len(free) < wanted.count:
        raise _too_few(nodes, wanted, free)
    sets = [tuple(module for module in one if module in free) for one in nodes[0].together]
    fitting = [one for one in sets if len(one) >= wanted.count]
    if fitting:
        return min(fitting, key=lambda one: (len(one), one))[: wanted.count]
    apart = next((node for node in nodes if node.board and wanted.count <= node.group), None)
    if apart:
        raise GaudiError(
            f"{wanted.option} is {wanted.count}, and {modules_text(free)} {_are(free)} free{_on(nodes)}, which no link "
            f"joins: {_groups_text(apart)}; {taken_text(nodes)}. Ask for {max(map(len, sets))} at most, or stop what "
            "has the others."
        )
    return free[: wanted.count]


def refuse_named(node: NodeCards, named: Sequence[int], option: str = "modules") -> None:
    """Raises GaudiError for modules that the node does not have, or that are not to be had, or that no link joins."""
    strange = [module for module in named if module not in node.modules]
    if strange:
        raise GaudiError(
            f"{option} names {strange[0]}, and {node.host} has {modules_text(node.modules)}; name modules that it has."
        )
    held = [module for module in named if module in node.taken]
    if held:
        free = f"{modules_text(node.free)} {_are(node.free)} free" if node.free else "none is free"
        raise GaudiError(
            f"{option} names {', '.join(map(str, named))}, and {_why(node, held)} on {node.host} ({free} there); "
            f"name others, or leave {option} empty."
        )
    if node.board and len(named) <= node.group and not any(set(named) <= set(one) for one in node.together):
        raise GaudiError(
            f"{option} names {', '.join(map(str, named))}, which no link joins on {node.host}: {_groups_text(node)}; "
            f"name modules of one group, or leave {option} empty."
        )


def refuse_taken(node: NodeCards, modules: Sequence[int], wanted: Wanted) -> None:
    """Raises GaudiError where a job that is to have ``modules``, whoever said so, cannot have all of them."""
    held = [module for module in modules if module in node.taken]
    if held:
        raise GaudiError(
            f"{wanted.option} is {wanted.count} and {_why(node, held)} on {node.host}; wait until "
            f"{'it is' if len(held) == 1 else 'they are'} free, or {_less(node)}."
        )


def _less(node: NodeCards) -> str:
    free = len(node.free)
    return f"ask for the {free} that {'is' if free == 1 else 'are'} free" if free else "stop what has them"


def _too_few(nodes: Sequence[NodeCards], wanted: Wanted, free: Sequence[int]) -> GaudiError:
    found = f"{len(free)} of {len(nodes[0].modules)} cards {_are(free)} free on {nodes[0].host}"
    if len(nodes) > 1:
        which = modules_text(free) if free else "no module"
        found = f"{which} {_are(free) if free else 'is'} free on all of {', '.join(node.host for node in nodes)}"
    remedy = f"ask for {len(free)} at most, or stop what has the others" if free else "stop what has them, or wait"
    same = ", and a job has the same modules on each of its nodes" if len(nodes) > 1 else ""
    return GaudiError(f"{wanted.option} is {wanted.count}, and {found}: {taken_text(nodes)}{same}; {remedy}.")


def taken_text(nodes: Sequence[NodeCards]) -> str:
    """``modules 0 to 3 are held by job a``, of each node that has such; with its name where they are several."""
    said = []
    for node in nodes:
        if node.taken:
            where = f"on {node.host} " if len(nodes) > 1 else ""
            said.append(where + _why(node, sorted(node.taken)))
    return "; ".join(said) or "the others are in other groups"


def _why(node: NodeCards, modules: Sequence[int]) -> str:
    by_clause: dict[str, list[int]] = {}
    for module in modules:
        by_clause.setdefault(node.taken[module], []).append(module)
    return ", ".join(f"{modules_text(found)} {_are(found)} {clause}" for clause, found in by_clause.items())


def _common(nodes: Sequence[NodeCards]) -> tuple[int, ...]:
    return tuple(module for module in nodes[0].free if all(module in node.free for node in nodes[1:]))


def _on(nodes: Sequence[NodeCards]) -> str:
    return f" on {nodes[0].host}" if len(nodes) == 1 else f" on all of {', '.join(node.host for node in nodes)}"


def _groups_text(node: NodeCards) -> str:
    """``HL-288E cards are joined in groups (modules 0 to 3, modules 4 to 7)``."""
    return f"{node.board} cards are joined in groups ({', '.join(map(modules_text, node.together))})"


def modules_text(modules: Sequence[int]) -> str:
    """``module 3``, ``modules 0 to 3``, ``modules 0, 2, 4 to 6``."""
    runs: list[list[int]] = []
    for module in modules:
        if runs and module == runs[-1][-1] + 1:
            runs[-1].append(module)
        else:
            runs.append([module])
    words = [", ".join(map(str, run)) if len(run) < 3 else f"{run[0]} to {run[-1]}" for run in runs]
    return f"module{'' if len(modules) == 1 else 's'} {', '.join(words) or 'none'}"


def _are(modules: Sequence[int]) -> str:
    return "is" if len(modules) == 1 else "are"
