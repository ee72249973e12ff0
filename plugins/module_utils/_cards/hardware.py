# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is fixed in silicon: PCI ids, memory, ports, temperature and power limits of each Gaudi generation.

Sources: PCI ids and memory from the vendor's driver (habanalabs_drv.c) and hl-smi listings; ports from the HCL sources
(connectivity_autogen_HLS3.cpp, connectivity_autogen_HLS3PCIE.cpp) and the vendor's page on network configuration; PCIe
from the vendor's documentation of HL-225H, HL-288E, HL-325L and HL-338; groups of
cards from HCL (connectivity_autogen_HLS3PCIE.cpp) and the manual of HL-288E (HabanaAI/vllm-fork, pull request 2222);
power limits from the vendor's manual of hl-smi (System_Management_Interface_Tool, -p/--power-max), which has those of
Gaudi 3 alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

HABANA_VENDOR = "0x1da3"
# PCI class 0x1200, "processing accelerator": the ports' own functions share the vendor but not the class.
ACCELERATOR_CLASS = "0x1200"


@dataclass(frozen=True)
class Board:
    """One kind of card.

    ``external_ports`` maps a module id to that card's scale-out ports; the key -1 stands for every module id.
    ``unconnected_ports`` are counted in ``ports`` but lead nowhere. Empty tuples mean: none, or not published.
    ``peers`` are the cards that the internal ports lead to, in equal shares. ``optional_ports``: servers are built with
    such cards of which a loaded driver shows no external port (HabanaAI/hccl_demo#47).
    """

    pci_id: str
    label: str
    ports: int
    external_ports: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    unconnected_ports: tuple[int, ...] = ()
    peers: int = 7
    optional_ports: bool = False

    @property
    def group(self) -> int:
        """How many cards are joined, by module id: where a top board joins four, 0 to 3 and 4 to 7."""
        return self.peers + 1


@dataclass(frozen=True)
class Generation:
    """A Gaudi generation. Memory in MiB as ``hl-smi`` reports it, port speed in Gb/s, temperature in degrees Celsius.

    ``temperature_limit_c`` is what a healthy card stays below; ``pcie_generation`` and ``pcie_lanes`` are those of all
    its boards; ``power_limits_w`` are the least and the most W to which ``hl-smi -p`` sets the limit of its 54 V rail.
    None where no source says; ``unverified`` names fields without a firm source.
    """

    name: str
    label: str
    boards: tuple[Board, ...]
    hbm_mib: int
    port_gbits: int
    temperature_limit_c: int
    pcie_generation: int | None = None
    pcie_lanes: int | None = None
    power_limits_w: tuple[int, int] | None = None
    unverified: tuple[str, ...] = ()

    @property
    def pci_ids(self) -> tuple[str, ...]:
        """PCI device ids, as sysfs writes them (``0x1060``)."""
        return tuple(board.pci_id for board in self.boards)


_EVERY_MODULE = -1
_GAUDI1_EXTERNAL = {_EVERY_MODULE: (1, 8, 9)}
_GAUDI2_EXTERNAL = {_EVERY_MODULE: (8, 22, 23)}
_GAUDI3_EXTERNAL = {
    0: (17, 20, 21),
    1: (5, 8, 9),
    2: (5, 8, 9),
    3: (17, 20, 21),
    4: (14, 15, 19),
    5: (2, 3, 7),
    6: (2, 3, 7),
    7: (14, 15, 19),
}

GENERATIONS: tuple[Generation, ...] = (
    Generation(
        name="gaudi",
        label="Gaudi (first generation)",
        boards=tuple(
            Board(pci_id, "HL-205", 10, _GAUDI1_EXTERNAL) for pci_id in ("0x1000", "0x1001", "0x1010", "0x1011")
        ),
        hbm_mib=32768,
        port_gbits=100,
        temperature_limit_c=83,
        unverified=("temperature_limit_c",),
    ),
    Generation(
        name="gaudi2",
        label="Gaudi 2",
        boards=(
            Board("0x1020", "HL-225", 24, _GAUDI2_EXTERNAL),
            # Ports 0-5 and 10-21 bridge to other cards; which of the other six exist is not published.
            Board("0x1021", "HL-288E", 24, unconnected_ports=(6, 7, 8, 9, 22, 23), peers=3),
        ),
        hbm_mib=98304,
        port_gbits=100,
        # The critical limit of the vendor's health screen for Gaudi 2.
        temperature_limit_c=83,
        pcie_generation=4,
        pcie_lanes=16,
    ),
    Generation(
        name="gaudi3",
        label="Gaudi 3",
        boards=(
            Board("0x1060", "HL-325L", 24, _GAUDI3_EXTERNAL),
            Board("0x1061", "HL-325L (die 1)", 24, _GAUDI3_EXTERNAL),
            Board("0x1062", "HL-325L (single die)", 24, _GAUDI3_EXTERNAL),
            Board("0x1063", "HL-338", 24, {_EVERY_MODULE: (8, 9, 10, 11)}, (0, 1), peers=3, optional_ports=True),
        ),
        hbm_mib=131072,
        port_gbits=200,
        # The vendor's health screen has 200 here, which no card survives; the limit of Gaudi 2 stands in for it.
        temperature_limit_c=83,
        pcie_generation=5,
        pcie_lanes=16,
        # The manual tells no boards apart. UNVERIFIED for an HL-338, whose own limit is 600 W.
        power_limits_w=(450, 850),
        unverified=("temperature_limit_c",),
    ),
)


@dataclass(frozen=True)
class Model:
    """A card that sources call by name, and of which none has the PCI id: only the node can say that it has one.

    ``power_w`` is what hl_qual expects of its 54 V rail; None where no source says.
    """

    name: str
    generation: str
    power_w: int | None
    source: str


# Memory, ports and rates of these are published nowhere, so nothing is expected of them by their silicon.
MODELS = (
    Model("HL-328", "gaudi3", 645, "the table of powers in the vendor's pages on hl_qual; UNVERIFIED"),
    Model("HL-388", "gaudi3", None, "named beside HL-328 in public files, without figures; UNVERIFIED"),
)
_MODEL_NAME = re.compile(r"HL-?(?P<number>[0-9]{3})", re.IGNORECASE)

_BOARDS = {board.pci_id: board for generation in GENERATIONS for board in generation.boards}
_GENERATION_OF_BOARD = {board.pci_id: generation for generation in GENERATIONS for board in generation.boards}


def generation_of(pci_id: str) -> Generation | None:
    """The generation of a PCI device id (``0x1060``, ``1060`` or ``1da3:1060``); None for an id that is not known."""
    return _GENERATION_OF_BOARD.get(_plain(pci_id))


def generation_named(name: str) -> Generation | None:
    """The generation called ``gaudi``, ``gaudi2`` or ``gaudi3``."""
    return next((generation for generation in GENERATIONS if generation.name == name), None)


def board_of(pci_id: str) -> Board | None:
    """The card that has this PCI device id, written as for :func:`generation_of`."""
    return _BOARDS.get(_plain(pci_id))


def label_of(pci_id: str, told: str) -> str:
    """What a card is called: the board of its PCI id, except where the node tells another model (``told``, such as
    ``HL328`` of its hwmon device); boards of one silicon may share an id. Empty for what nothing is known of.
    """
    board = board_of(pci_id)
    label = board.label if board else ""
    named = _MODEL_NAME.search(told)
    if named is None or f"HL-{named['number']}" in label:
        return label
    return f"HL-{named['number']}"


def external_ports(pci_id: str, module_id: int) -> tuple[int, ...]:
    """Port numbers of a card's scale-out ports; empty for an unknown card or module id."""
    board = board_of(pci_id)
    if board is None:
        return ()
    return board.external_ports.get(module_id, board.external_ports.get(_EVERY_MODULE, ()))


def internal_ports(pci_id: str, module_id: int) -> tuple[int, ...]:
    """Port numbers that lead to other cards of the same node; empty for an unknown card."""
    board = board_of(pci_id)
    if board is None:
        return ()
    elsewhere = {*external_ports(pci_id, module_id), *board.unconnected_ports}
    return tuple(port for port in range(board.ports) if port not in elsewhere)


def links_between(pci_id: str, cards: int) -> int:
    """Internal links of a card on a node that has ``cards`` of its kind: a virtual machine may have one or two."""
    board = board_of(pci_id)
    if board is None:
        return 0
    return len(internal_ports(pci_id, 0)) * min(cards - 1, board.peers) // board.peers


def _plain(pci_id: str) -> str:
    digits = pci_id.strip().lower().rpartition(":")[2]
    return digits if digits.startswith("0x") else f"0x{digits}"
