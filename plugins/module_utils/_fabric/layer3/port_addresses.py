# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Which addresses each port of a node gets, from the plan or from LLDP, and what speaks against it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..._cards.hardware import board_of, external_ports
from ..._errors import GaudiError
from ..sysfs import CardPort
from . import flow_control
from .address_plan import AddressPlan, PortAddress, Slot, check_hosts, check_pools, make_plan, slots_of
from .lldp import Neighbor, address_of, announced
from .networkd import RoutedPort

PLAN, LLDP = "plan", "lldp"
SOURCES = (PLAN, LLDP)
SWITCHED_LAYER, ROUTED_LAYER = 2, 3
LAYERS = (SWITCHED_LAYER, ROUTED_LAYER)
SMALLEST_MTU, LARGEST_MTU = 1500, 9000
_NAMED = 6


@dataclass(frozen=True)
class RoutedOptions:
    """The operator's wishes for layer 3; see the options of the module ``hpu_fabric``. ``lldp_timeout`` in seconds."""

    layer: int = SWITCHED_LAYER
    addresses: str = PLAN
    pools: Sequence[str] = ()
    hosts: Sequence[str] = ()
    host: str = ""
    mtu: int = 8000
    pfc_priorities: Sequence[int] = flow_control.PRIORITIES
    lldp_timeout: float = 90.0
    require_programs: bool = True

    def check(self) -> None:
        """Refuse what cannot be meant, before anything is looked at; also what layer 2 does not use."""
        check_hosts([*self.hosts, self.host] if self.host else self.hosts)
        if self.pools:
            check_pools(self.pools)
        if not SMALLEST_MTU <= self.mtu <= LARGEST_MTU:
            raise GaudiError(
                f"gaudi_fabric_mtu is {self.mtu}; give {SMALLEST_MTU} to {LARGEST_MTU}, and not more than the switch."
            )
        flow_control.check_priorities(self.pfc_priorities)


def plan_of(options: RoutedOptions, pci_ids: Iterable[str]) -> AddressPlan:
    """The plan of all hosts, whose servers have the cards of this one."""
    boards = [board for board in map(board_of, sorted(set(pci_ids))) if board and slots_of(board)]
    counts = {len(slots_of(board)) for board in boards}
    if len(counts) != 1:
        raise GaudiError("gaudi_fabric_addresses: plan needs cards of one kind with external ports; use lldp.")
    return make_plan(options.hosts, slots_of(boards[0]), options.pools)


def slots(ports: Sequence[CardPort], cards: Mapping[str, tuple[str, int | None]]) -> dict[Slot, CardPort]:
    """Each port at its place; GaudiError where one has none, or where a card's port is missing.

    ``cards`` has the PCI id and the module id of each card, by its address.
    """
    lost = [port.interface for port in ports if port.module_id is None or port.number is None or not port.mac]
    if lost:
        raise GaudiError(f"{_names(lost)}: the driver reports no module id, port number or address; see dmesg.")
    found = {Slot(port.module_id or 0, port.number or 0): port for port in ports}
    expected = [
        Slot(module_id, port)
        for pci_id, module_id in cards.values()
        if module_id is not None
        for port in external_ports(pci_id, module_id)
    ]
    missing = [f"port {slot.port} of card {slot.module_id}" for slot in sorted(expected) if slot not in found]
    if missing:
        count = f"{len(expected) - len(missing)} of {len(expected)}"
        raise GaudiError(
            f"Only {count} external ports are there, and layer 3 needs all: {_names(missing)} not found; look for the "
            "card with hl-smi and in dmesg."
        )
    return dict(sorted(found.items()))


def planned(plan: AddressPlan, host: str, ports: Mapping[Slot, CardPort]) -> list[RoutedPort]:
    """The ports of this host with their addresses by the plan."""
    addresses = {one.slot: one for one in plan.of(host)}
    return [_routed(port, addresses[slot]) for slot, port in ports.items()]


def disagreements(ports: Sequence[RoutedPort], neighbors: Sequence[Neighbor]) -> list[str]:
    """Where the switch announces other addresses than the plan has, a sentence for each cable or pair of cables.

    A description without an address says nothing against it.
    """
    said = _heard(neighbors)
    by_gateway = {one.planned.switch: one for one in ports}
    found: list[str] = []
    told: set[str] = set()
    for port in ports:
        neighbor = said.get(port.interface)
        if neighbor is None or port.interface in told:
            continue
        try:
            there = announced(neighbor.description)
        except ValueError as error:
            found.append(f"{port.interface}: the switch's description {neighbor.description[:80]!r} {error}.")
            continue
        if there is None or (there.switch, there.prefix) == (port.planned.switch, port.planned.prefix):
            continue
        where = f"{port.interface} is connected to {neighbor.switch} {neighbor.port}, which announces {there.switch}/"
        other = by_gateway.get(there.switch)
        if there.switch == port.planned.switch:
            found.append(f"{where}{there.prefix}; its mask has to be /{port.planned.prefix}: correct it there.")
        elif other is not None and _hears(said, other.interface, port.planned.switch):
            told.add(other.interface)
            found.append(f"The cables of {port.interface} and {other.interface} are swapped; exchange them.")
        else:
            meant = f", the address for {other.interface}" if other else ""
            found.append(
                f"{where}{there.prefix}{meant}; {port.planned.announced} was planned: correct cable or switch."
            )
    return found


def from_lldp(ports: Mapping[Slot, CardPort], neighbors: Sequence[Neighbor]) -> list[RoutedPort]:
    """The ports with the addresses that the switch announces; GaudiError naming each port that gets none."""
    said, wrong, found = _heard(neighbors), list[str](), list[RoutedPort]()
    for slot, port in ports.items():
        if port.interface not in said:
            wrong.append(f"{port.interface}: no LLDP neighbor; check the cable, and LLDP on the switch.")
            continue
        try:
            found.append(_routed(port, address_of(slot, port.interface, said[port.interface])))
        except GaudiError as error:
            wrong.append(str(error))
    first: dict[str, str] = {}
    for one in found:
        other = first.setdefault(one.planned.address, one.interface)
        if other != one.interface:
            wrong.append(
                f"{one.interface}: the switch announces {one.planned.announced} as it does for {other}; give each port "
                "its own."
            )
    refuse(wrong)
    return found


def refuse(sentences: Sequence[str]) -> None:
    """GaudiError with the first of them, and how many there are."""
    if sentences:
        more = f" And {len(sentences) - _NAMED} more." if len(sentences) > _NAMED else ""
        raise GaudiError(" ".join(sentences[:_NAMED]) + more, findings=list(sentences))


def silent(ports: Iterable[CardPort], neighbors: Sequence[Neighbor]) -> list[str]:
    """The ports with a link that nobody has been heard on."""
    said = _heard(neighbors)
    return [port.interface for port in ports if port.link and port.interface not in said]


def _heard(neighbors: Sequence[Neighbor]) -> dict[str, Neighbor]:
    """One neighbor a port; GaudiError where there are two, as behind a hub or a bridge."""
    found: dict[str, Neighbor] = {}
    for one in neighbors:
        other = found.get(one.interface)
        if other is not None:
            raise GaudiError(
                f"{one.interface} hears two LLDP neighbors ({other.switch} {other.port}, {one.switch} {one.port}); "
                "a cable has one end: look for a hub or a bridge in between."
            )
        found[one.interface] = one
    return found


def _hears(said: Mapping[str, Neighbor], interface: str, switch: str) -> bool:
    neighbor = said.get(interface)
    try:
        there = announced(neighbor.description) if neighbor else None
    except ValueError:
        return False
    return there is not None and there.switch == switch


def _routed(port: CardPort, planned_address: PortAddress) -> RoutedPort:
    return RoutedPort(port.interface, str(port.mac).lower(), port.link, planned_address)


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
