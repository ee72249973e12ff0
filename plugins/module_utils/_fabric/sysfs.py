# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node can talk over, as the kernel shows it: the cards' own Ethernet ports and the host's network cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .._cards.accel_sysfs import PciCard, accel_devices, attribute, cards_with_ports, pci_cards
from .._cards.hardware import HABANA_VENDOR, board_of, external_ports, generation_of
from .._cards.verbs_devices import belongs_to_card

INFINIBAND = "infiniband"
ROCE = "roce"
EFA = "efa"

_AMAZON_VENDOR = "0x1d0f"
_EFA_DEVICES = ("0xefa0", "0xefa1", "0xefa2", "0xefa3")
# IFF_UP of linux/if.h: an administrator has switched the interface on. Whether it has a link is `operstate`.
_IFF_UP = 0x1


@dataclass(frozen=True)
class CardPort:
    """An external port of a card. Only external ports are network interfaces (the vendor's container runtime).

    ``module_id`` is None while the driver shows no such card, ``mac`` where the interface shows none.
    """

    interface: str
    pci_address: str
    number: int | None
    enabled: bool
    link: bool
    module_id: int | None = None
    mac: str | None = None


@dataclass(frozen=True)
class HostNic:
    """An RDMA device of the host. ``kind``: ``infiniband``, ``roce`` or ``efa``; ``link``: a port of it is active."""

    device: str
    kind: str
    link: bool
    interfaces: tuple[str, ...]


@dataclass(frozen=True)
class Network:
    """All that matters for the choice. ``generation`` is None without cards.

    ``expected_ports`` counts the external ports that the cards have in hardware, without those of boards that may have
    none and show none; ``ports`` are those the driver shows. ``taken`` counts the cards that it has taken, ``silent``
    are the boards of those of them that have external ports in hardware and show none.
    """

    generation: str | None
    expected_ports: int
    ports: tuple[CardPort, ...]
    nics: tuple[HostNic, ...]
    cards: int = 0
    taken: int = 0
    silent: tuple[str, ...] = ()


def read_network(kernel_root: str = "/") -> Network:
    """Look at ``<kernel_root>/sys``."""
    cards = pci_cards(kernel_root)
    modules = {device.pci_address: device.module_id for device in accel_devices(kernel_root)}
    generations = [found.name for found in (generation_of(card.pci_id) for card in cards) if found]
    shown = cards_with_ports(kernel_root)
    silent = [card for card in cards if card.pci_address in modules and card.pci_address not in shown]
    expected = sum(_expected(card, modules.get(card.pci_address), card in silent) for card in cards)
    boards = [board for board in (board_of(card.pci_id) for card in silent) if board and board.external_ports]
    return Network(
        generation=generations[0] if generations else None,
        expected_ports=expected,
        ports=card_ports(kernel_root),
        nics=host_nics(kernel_root),
        cards=len(cards),
        taken=len(modules),
        silent=tuple(dict.fromkeys(board.label for board in boards)),
    )


def _expected(card: PciCard, module_id: int | None, silent: bool) -> int:
    """Every module id of a generation has equally many external ports, so an unknown one counts as 0."""
    board = board_of(card.pci_id)
    return 0 if silent and board and board.optional_ports else len(external_ports(card.pci_id, module_id or 0))


def card_ports(kernel_root: str = "/") -> tuple[CardPort, ...]:
    """The cards' external ports, by card and port number."""
    paths = Path(kernel_root, "sys/class/net").glob("*")
    modules = {device.pci_address: device.module_id for device in accel_devices(kernel_root)}
    ports = [_card_port(path, modules) for path in paths if attribute(path / "device", "vendor") == HABANA_VENDOR]
    return tuple(sorted(ports, key=lambda port: (port.pci_address, port.number or 0, port.interface)))


def _card_port(path: Path, modules: Mapping[str, int | None]) -> CardPort:
    address = (path / "device").resolve().name.lower()
    number = attribute(path, "dev_port") or ""
    return CardPort(
        interface=path.name,
        pci_address=address,
        number=int(number) if number.isdecimal() else None,
        enabled=bool(int(attribute(path, "flags") or "0", 16) & _IFF_UP),
        link=attribute(path, "operstate") == "up",
        module_id=modules.get(address),
        mac=attribute(path, "address"),
    )


def host_nics(kernel_root: str = "/") -> tuple[HostNic, ...]:
    """The host's RDMA devices, and EFA devices whose driver is missing."""
    verbs = sorted(Path(kernel_root, "sys/class/infiniband").glob("*"))
    nics = [_host_nic(path) for path in verbs if not belongs_to_card(path)]
    driven = {(path / "device").resolve().name for path in verbs}
    functions = sorted(Path(kernel_root, "sys/bus/pci/devices").glob("*"))
    bare = [HostNic(path.name, EFA, False, ()) for path in functions if _is_efa(path) and path.name not in driven]
    return (*nics, *bare)


def _host_nic(path: Path) -> HostNic:
    ports = sorted((path / "ports").glob("*"))
    layers = {attribute(port, "link_layer") for port in ports}
    kind = EFA if _is_efa(path / "device") else INFINIBAND if "InfiniBand" in layers else ROCE
    return HostNic(
        device=path.name,
        kind=kind,
        # The file reads for example "4: ACTIVE".
        link=any((attribute(port, "state") or "").endswith("ACTIVE") for port in ports),
        interfaces=tuple(sorted(interface.name for interface in (path / "device" / "net").glob("*"))),
    )


def _is_efa(device: Path) -> bool:
    return attribute(device, "vendor") == _AMAZON_VENDOR and attribute(device, "device") in _EFA_DEVICES
