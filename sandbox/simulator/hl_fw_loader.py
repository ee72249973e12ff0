# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-fw-loader``: shows (-s) and writes (-y) the firmware in the cards' flash.

Of the real one's output two lines are public: "Current SPI version: ..." (docs.habana.ai Firmware_Upgrade) and
"Finished sending firmware: OK" (intel/intel-technology-enabling-for-openshift). As there, -s tells what a card has
started from: what was written shows after the card's next reset, which is when the driver is loaded.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from .faults import hits
from .kernel_tree import refresh
from .node_state import Card, Node, locked, read, write
from .readings import OLD_FIRMWARE, cards_on_bus, shown_firmware

IMAGES = Path("/lib/firmware/habanalabs")
BUILD_DATE = "Jul 01 2025 - 10:00:00"


def main(arguments: list[str]) -> int:
    """Show or write; writing needs the modules unloaded, as on a real card."""
    parser = argparse.ArgumentParser(prog="hl-fw-loader", description="firmware loader (simulated)")
    parser.add_argument("-s", dest="show", action="store_true", help="show what the cards' flash holds")
    parser.add_argument("-y", dest="yes", action="store_true", help="write without asking")
    parser.add_argument("-d", dest="device", help="only the card with this bus id")
    parser.add_argument("-f", "--file", type=Path, help="image (default: that of habanalabs-firmware)")
    parser.add_argument("-v", "--version", action="store_true")
    options = parser.parse_args(arguments)
    if options.version:
        print(f"hl-fw-loader {os.environ['HABANALABS_PACKAGE']} (simulated)")
        return 0
    node = read()
    cards = [card for card in cards_on_bus(node) if options.device in (None, card.pci_address, card.pci_address[5:])]
    if not cards:
        print(f"hl-fw-loader (simulated): no card {options.device or 'at all'}", file=sys.stderr)
        return 1
    if options.show:
        return _show(node, cards)
    if not options.yes:
        print("hl-fw-loader (simulated): give -s to show or -y to write", file=sys.stderr)
        return 1
    return _flash(node, cards, options.file)


def _show(node: Node, cards: list[Card]) -> int:
    for card in cards:
        version = f"hl-{node.board.firmware_name}-{shown_firmware(node, card)}"
        print(f"{card.pci_address} (simulated)", file=sys.stderr)
        print(f"Current SPI version: Preboot version {version} ({BUILD_DATE})")
    return 0


def _flash(node: Node, cards: list[Card], file: Path | None) -> int:
    if node.modules:
        print(f"hl-fw-loader: unload {', '.join(reversed(list(node.modules)))} first", file=sys.stderr)
        return 1
    name = node.board.firmware_name
    image = file or IMAGES / name / f"{name}-agent-fw_loader-fit.itb"
    found = re.search(rf"hl-{name}-(\S+)", image.read_text(encoding="utf-8")) if image.exists() else None
    if found is None:
        print(f"hl-fw-loader: {image} is not a firmware image for {name}", file=sys.stderr)
        return 1
    for card in cards:
        print(f"Sending firmware to {card.pci_address} (simulated)", flush=True)
        if "write_protected" in node.faults or hits(node.faults, "flash_fails", card.module_id):
            print("Finished sending firmware: FAILED")
            return 1
        with locked():
            node = written(read(), card, found[1])
            write(node)
            refresh(node)
        print("Finished sending firmware: OK", flush=True)
    return 0


def written(node: Node, card: Card, version: str) -> Node:
    """The node with ``version`` in the flash of ``card``; it still shows what it has started from."""
    old = hits(node.faults, "wrong_firmware", card.module_id)
    after = replace(card, firmware=OLD_FIRMWARE if old else card.firmware, written=version)
    cards = tuple(after if one.pci_address == card.pci_address else one for one in node.cards)
    faults: dict[str, Any] = dict(node.faults)
    if old:
        others = [number for number in faults.pop("wrong_firmware") if number != card.module_id]
        faults = {**faults, **({"wrong_firmware": others} if others else {})}
    return replace(node, cards=cards, faults=faults)
