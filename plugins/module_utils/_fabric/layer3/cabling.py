# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The verdict on a cluster's cabling: what all nodes hear by LLDP, against the plan and against each other. Pure.

A rail is the ports at one place in every server: in a rack they hang on one switch, so that collectives between equal
ranks need no hop more. Which switch that is, the servers say by majority; racks with switches of their own are told
apart by what most of their rails have in common.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .address_plan import PortAddress, Slot
from .lldp import WrongMaskError, announced

OK, NO_LINK, NO_NEIGHBOR, SEVERAL = "ok", "no link", "no neighbor", "several neighbors"
SWAPPED, WRONG_SWITCH, SPLIT_RAIL = "swapped", "wrong switch", "rail on two switches"
WRONG_ADDRESS, WRONG_MASK, NO_ADDRESS, TWICE = "wrong address", "wrong mask", "unreadable address", "address twice"


@dataclass(frozen=True)
class HeardPort:
    """An external port of a node and what is heard on it; ``heard`` is how many neighbors there are."""

    host: str
    slot: Slot
    interface: str
    link: bool
    heard: int = 0
    switch: str = ""
    switch_port: str = ""
    description: str = ""
    addresses: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """For a sentence."""
        return f"{self.host} {self.interface}"

    @property
    def where(self) -> str:
        """The other end, for a sentence."""
        return f"{self.switch} {self.switch_port}".strip()


@dataclass(frozen=True)
class Cable:
    """A port with its verdict; ``why`` is a sentence where something is wrong."""

    port: HeardPort
    verdict: str
    why: str = ""
    planned: PortAddress | None = None


@dataclass
class _Evidence:
    """What is needed to judge a port, over all nodes."""

    planned: dict[tuple[str, Slot], PortAddress]
    at: dict[tuple[str, Slot], HeardPort]
    by_announced: dict[str, list[HeardPort]] = field(default_factory=lambda: defaultdict(list))
    by_address: dict[str, list[HeardPort]] = field(default_factory=lambda: defaultdict(list))
    owner: dict[str, tuple[str, Slot]] = field(default_factory=dict)
    rails: dict[tuple[str, Slot], str] = field(default_factory=dict)


def judge(ports: Sequence[HeardPort], plan: Mapping[str, Sequence[PortAddress]]) -> list[Cable]:
    """The verdict on each of ``ports``, in their order. ``plan`` may be empty, or name hosts that told nothing."""
    evidence = _Evidence(
        {(host, one.slot): one for host, planned in plan.items() for one in planned},
        {(port.host, port.slot): port for port in ports},
    )
    evidence.owner = {one.switch: place for place, one in evidence.planned.items()}
    for port in ports:
        switch = _announced(port)
        if switch:
            evidence.by_announced[switch].append(port)
        for address in port.addresses:
            evidence.by_address[address.partition("/")[0]].append(port)
    evidence.rails = _rails(ports)
    return [_cable(port, evidence) for port in ports]


def _cable(port: HeardPort, evidence: _Evidence) -> Cable:
    planned = evidence.planned.get((port.host, port.slot))
    found = _seen(port)
    # What is announced can be read from here on.
    for check in (_same_address, _against_plan, _rail):
        if found[0] == OK:
            found = check(port, evidence)
    return Cable(port, *found, planned)


def _seen(port: HeardPort) -> tuple[str, str]:
    if not port.link:
        return NO_LINK, f"{port.label} has no link; check cable and switch."
    if port.heard == 0:
        return NO_NEIGHBOR, f"{port.label} has a link and no LLDP neighbor; switch LLDP on at its other end."
    if port.heard > 1:
        return SEVERAL, f"{port.label} hears {port.heard} LLDP neighbors; look for a hub or a bridge in between."
    try:
        announced(port.description)
    except ValueError as error:
        verdict = WRONG_MASK if isinstance(error, WrongMaskError) else NO_ADDRESS
        return verdict, f"{port.label} on {port.where}: the description {port.description[:80]!r} {error}."
    return OK, ""


def _same_address(port: HeardPort, evidence: _Evidence) -> tuple[str, str]:
    """Two ports that have one address themselves, or were promised one."""
    for address in port.addresses:
        others = [one.label for one in evidence.by_address[address.partition("/")[0]] if one is not port]
        if others:
            return TWICE, f"{port.label} has the address {address}, as {others[0]} has; give each port its own."
    others = [one.label for one in evidence.by_announced.get(_announced(port), ()) if one is not port]
    if others:
        text = port.description[:80]
        return TWICE, f"{port.label} hears {text!r} from {port.where}, as {others[0]} does; correct one."
    return OK, ""


def _against_plan(port: HeardPort, evidence: _Evidence) -> tuple[str, str]:
    planned, there = evidence.planned.get((port.host, port.slot)), announced(port.description)
    if planned is None or there is None or (there.switch, there.prefix) == (planned.switch, planned.prefix):
        return OK, ""
    if there.switch == planned.switch:
        masks = f"/{there.prefix} where /{planned.prefix} was planned"
        return WRONG_MASK, f"{port.label} on {port.where}: the mask is {masks}; correct it there."
    meant_for = evidence.owner.get(there.switch)
    other = evidence.at.get(meant_for) if meant_for else None
    if other is not None and _announced(other) == planned.switch:
        return SWAPPED, _swapped(port, other)
    meant = f", the address for {_place(*meant_for)}" if meant_for else ""
    heard = f"{there.switch}/{there.prefix}{meant}"
    return WRONG_ADDRESS, f"{port.label} on {port.where} hears {heard}; {planned.announced} was planned."


def _swapped(port: HeardPort, other: HeardPort) -> str:
    first, second = sorted((port.label, other.label))
    return f"The cables of {first} and {second} are swapped; exchange them."


def _place(host: str, slot: Slot) -> str:
    return f"port {slot.port} of card {slot.module_id} of {host}"


def _announced(port: HeardPort) -> str:
    try:
        there = announced(port.description) if port.heard == 1 else None
    except ValueError:
        return ""
    return there.switch if there else ""


def _rail(port: HeardPort, evidence: _Evidence) -> tuple[str, str]:
    wanted = evidence.rails.get((port.host, port.slot), "")
    if wanted in ("", port.switch):
        return OK, ""
    rail = f"port {port.slot.port} of card {port.slot.module_id}"
    if wanted == SPLIT_RAIL:
        return SPLIT_RAIL, f"{port.label} is on {port.where}, and the same port ({rail}) of other nodes is elsewhere."
    for place, other in evidence.at.items():
        crossed = other.switch == wanted and evidence.rails.get(place) == port.switch
        if place[0] == port.host and crossed:
            return SWAPPED, _swapped(port, other)
    return WRONG_SWITCH, f"{port.label} is on {port.where}; the same port ({rail}) of most nodes is on {wanted}."


def _rails(ports: Sequence[HeardPort]) -> dict[tuple[str, Slot], str]:
    """The switch that each port ought to hang on, by what most nodes of its rack have; a tie is SPLIT_RAIL."""
    switches: dict[str, dict[Slot, str]] = defaultdict(dict)
    for port in ports:
        if port.heard == 1 and port.switch:
            switches[port.host][port.slot] = port.switch
    found: dict[tuple[str, Slot], str] = {}
    for rack in _racks(switches):
        for slot in sorted({slot for host in rack for slot in switches[host]}):
            votes = Counter(switches[host][slot] for host in rack if slot in switches[host])
            (first, most), *others = votes.most_common()
            wanted = SPLIT_RAIL if others and others[0][1] == most else first
            found |= {(host, slot): wanted for host in rack if slot in switches[host]}
    return found


def _racks(switches: Mapping[str, Mapping[Slot, str]]) -> list[list[str]]:
    """Hosts of which most rails are on the same switches as the first one's."""
    racks: list[list[str]] = []
    for host, mine in switches.items():
        for rack in racks:
            theirs = switches[rack[0]]
            common = [slot for slot in mine if slot in theirs]
            if 2 * sum(mine[slot] == theirs[slot] for slot in common) > len(common):
                rack.append(host)
                break
        else:
            racks.append([host])
    return racks
