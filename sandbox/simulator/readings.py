# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What each card shows of itself right now: the state and the injected faults turned into readings."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace

from .boards import PORTS, Board
from .faults import hits, is_lost, port_is_down
from .node_state import Card, Node

HOT_CELSIUS = 98
# As an operator's firmware had it.
ABSURD_CELSIUS = 505_712_272
ECC_ERRORS = 3
BUSY_MIB = 91136
OLD_FIRMWARE = "1.20.0-fw-58.0.0-sec-2"
# One digit group too many, as in a target of the vendor's recipe for 1.22.1.
UNREADABLE_FIRMWARE = "1.1.22.0-fw-61.3.2-sec-3"
FIRST_MAC = 0x02_5A_00_00_00_00  # locally administered: no vendor's prefix


@dataclass(frozen=True)
class CardReading:
    """A card as the driver sees it: temperature in degrees Celsius, power and its limit in W, ``ports_up`` those with
    a link."""

    index: int
    card: Card
    board: Board
    status: str
    temperature: int
    power: int
    limit_watts: int
    used_mib: int
    busy: bool
    uncorrectable_ecc: int
    firmware: str
    ports_up: frozenset[int]

    @property
    def macs(self) -> tuple[str, ...]:
        """One address per port."""
        return macs(self.card, PORTS)


def macs(card: Card, ports: int) -> tuple[str, ...]:
    """One address per port, that no other card has."""
    first = FIRST_MAC + (zlib.crc32(card.serial.encode()) & 0xFFFFFF) * 256
    return tuple((first + port).to_bytes(6, "big").hex(":") for port in range(ports))


def cards_on_bus(node: Node) -> tuple[Card, ...]:
    """The cards that PCI enumeration finds."""
    if "no_cards" in node.faults:
        return ()
    return tuple(
        card
        for card in node.cards
        if not hits(node.faults, "missing_card", card.module_id)
        and not is_lost(node.faults, node.driver, card.module_id)
    )


def readings(node: Node) -> tuple[CardReading, ...]:
    """The cards that the loaded driver has, by accel index; none without the driver.

    The driver of 1.22 and later does not know first-generation cards. Indices follow the order in which cards came up,
    which changes from one load of the driver to the next.
    """
    if node.driver is None or "first_generation" in node.faults:
        return ()
    cards = cards_on_bus(node)
    turn = node.loads % len(cards) if cards else 0
    return tuple(_reading(node, index, card) for index, card in enumerate(cards[turn:] + cards[:turn]))


def _reading(node: Node, index: int, card: Card) -> CardReading:
    board = node.board
    variation = zlib.crc32(card.serial.encode()) % 6
    busy = hits(node.faults, "busy_device", card.module_id)
    return CardReading(
        index=index,
        card=card,
        board=board,
        status="Disabled" if hits(node.faults, "not_operational", card.module_id) else "Operational",
        temperature=_temperature(node, card, board.idle_celsius + variation),
        power=board.idle_watts + variation,
        limit_watts=board.limit_watts if card.power_limit is None else card.power_limit,
        used_mib=BUSY_MIB if busy else board.idle_mib,
        busy=busy,
        uncorrectable_ecc=ECC_ERRORS if hits(node.faults, "uncorrectable_ecc", card.module_id) else 0,
        firmware=shown_firmware(node, card),
        ports_up=_ports_up(node, card),
    )


def shown_firmware(node: Node, card: Card) -> str:
    """The SPI version that the card tells, by whichever program."""
    if hits(node.faults, "unreadable_firmware", card.module_id):
        return UNREADABLE_FIRMWARE
    return OLD_FIRMWARE if hits(node.faults, "wrong_firmware", card.module_id) else card.firmware


def started(node: Node, *, power_cycled: bool = False) -> Node:
    """The node after its cards were reset: they start from what was written, or only after a power cycle.

    UNVERIFIED: whether a power limit outlives a reset. Here it does not, so that nothing can count on it.
    """
    cards = tuple(
        replace(card, firmware=card.written, written="", power_limit=None)
        if card.written and (power_cycled or not hits(node.faults, "power_cycle_needed", card.module_id))
        else replace(card, power_limit=None)
        for card in node.cards
    )
    return replace(node, cards=cards)


def _temperature(node: Node, card: Card, idle: int) -> int:
    if hits(node.faults, "zero_temperature", card.module_id):
        return 0
    if hits(node.faults, "absurd_temperature", card.module_id):
        return ABSURD_CELSIUS
    return HOT_CELSIUS if hits(node.faults, "hot_card", card.module_id) else idle


def _ports_up(node: Node, card: Card) -> frozenset[int]:
    if "habanalabs_cn" not in node.modules:
        return frozenset()
    wired = set(node.board.internal(card.module_id))
    if node.external_ports_up and "habanalabs_en" in node.modules:
        wired.update(node.board.external(card.module_id))
    return frozenset(port for port in wired if not port_is_down(node.faults, card.module_id, port))
