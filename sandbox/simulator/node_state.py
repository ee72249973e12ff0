# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The state of a simulated node: one JSON file that programs and tests read and write."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from .boards import BOARDS, SLOTS, Board

ROOT = Path("/var/lib/gaudi_simulator")
STATE_FILE = "node.json"


@dataclass(frozen=True)
class Card:
    """One card in its slot.

    ``firmware`` is what it has started from, for example ``1.22.0-fw-61.3.2-sec-3``; ``written`` is what hl-fw-loader
    has put into its flash since, empty where nothing waits. ``power_limit`` is what hl-smi has set it to, in W; None is
    its board's own.
    """

    pci_address: str
    module_id: int
    serial: str
    uuid: str
    numa_node: int
    firmware: str
    written: str = ""
    power_limit: int | None = None


@dataclass(frozen=True)
class Node:
    """A whole node.

    ``modules`` are the loaded kernel modules in the order of loading with the package version each was built from;
    ``loads`` counts how often the driver found its cards (their accel indices change with it), ``loaded_at`` is when it
    last did (Unix time);
    ``flow_control`` is whether the external ports pause single priorities (PFC);
    ``faults`` are the injected faults, see faults.py.
    """

    generation: str
    kernel_release: str
    cards: tuple[Card, ...]
    modules: Mapping[str, str] = field(default_factory=dict)
    module_parameters: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    external_ports_up: bool = False
    loads: int = 0
    loaded_at: float = 0.0
    flow_control: bool = False
    faults: Mapping[str, object] = field(default_factory=dict)

    @property
    def board(self) -> Board:
        """What kind of card this node has."""
        return BOARDS["gaudi" if "first_generation" in self.faults else self.generation]

    @property
    def driver(self) -> str | None:
        """Package version of the loaded driver, or None."""
        return self.modules.get("habanalabs")


def new_node(generation: str, cards: int, kernel_release: str, hostname: str) -> Node:
    """A virgin node with ``cards`` cards that differ from those of every other host."""
    board = BOARDS[generation]
    host = hashlib.sha256(hostname.encode()).hexdigest().upper()[:4]
    return Node(generation, kernel_release, tuple(_card(board, slot, host) for slot in range(cards)))


def _card(board: Board, slot: int, host: str) -> Card:
    pci_address, module_id = SLOTS[slot]
    return Card(
        pci_address=pci_address,
        module_id=module_id,
        serial=f"SIM{host}{slot:03d}",
        uuid=f"{board.uuid_prefix}-SIM{host}-12-03-{slot:02d}",
        numa_node=slot * 2 // len(SLOTS),
        firmware=board.factory_firmware,
    )


def to_json(node: Node) -> str:
    """The text of node.json."""
    return json.dumps(asdict(node), indent=2) + "\n"


def from_json(text: str) -> Node:
    """The node that node.json describes."""
    data = json.loads(text)
    return Node(**{**data, "cards": tuple(Card(**card) for card in data["cards"])})


def read(root: Path = ROOT) -> Node:
    """The node as it is now."""
    return from_json((root / STATE_FILE).read_text(encoding="utf-8"))


def write(node: Node, root: Path = ROOT) -> None:
    """Replace node.json in one step."""
    temporary = root / f".{STATE_FILE}.new"
    temporary.write_text(to_json(node), encoding="utf-8")
    # Accounts that may open the cards see them, whatever the umask of the unit that changed them.
    temporary.chmod(0o644)
    temporary.replace(root / STATE_FILE)


@contextmanager
def locked(root: Path = ROOT) -> Iterator[None]:
    """One program at a time changes the node and its tree; others wait."""
    root.mkdir(parents=True, exist_ok=True)
    with (root / ".lock").open("w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def hostname() -> str:
    """The name that this node's cards get their serial numbers from."""
    return os.uname().nodename


__all__ = [
    "ROOT", "Card", "Node", "from_json", "hostname", "locked", "new_node", "read", "replace", "to_json", "write",
]  # fmt: skip
