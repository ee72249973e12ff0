# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-fw-loader``: shows (-s) and writes (-y) the firmware in the cards' flash. Its real output is not public."""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import replace
from pathlib import Path

from .faults import hits
from .kernel_tree import refresh
from .node_state import Node, locked, read, write
from .readings import OLD_FIRMWARE, cards_on_bus

IMAGES = Path("/lib/firmware/habanalabs")


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
    if options.show:
        return _show(read())
    if not options.yes:
        print("hl-fw-loader (simulated): give -s to show or -y to write", file=sys.stderr)
        return 1
    with locked():
        return _flash(read(), options.device, options.file)


def _show(node: Node) -> int:
    for card in cards_on_bus(node):
        held = OLD_FIRMWARE if hits(node.faults, "wrong_firmware", card.module_id) else card.firmware
        print(f"{card.pci_address}: SPI version hl-{node.board.firmware_name}-{held} (simulated)")
    return 0


def _flash(node: Node, device: str | None, file: Path | None) -> int:
    if node.modules:
        print(f"hl-fw-loader: unload {', '.join(reversed(list(node.modules)))} first", file=sys.stderr)
        return 1
    name = node.board.firmware_name
    image = file or IMAGES / name / f"{name}-agent-fw_loader-fit.itb"
    found = re.search(rf"hl-{name}-(\S+)", image.read_text(encoding="utf-8")) if image.exists() else None
    if found is None:
        print(f"hl-fw-loader: {image} is no firmware image for {name}", file=sys.stderr)
        return 1
    chosen = {card.pci_address for card in cards_on_bus(node) if device in (None, card.pci_address)}
    cards = tuple(replace(card, firmware=found[1]) if card.pci_address in chosen else card for card in node.cards)
    faults = {fault: value for fault, value in node.faults.items() if fault != "wrong_firmware" or device}
    node = replace(node, cards=cards, faults=faults)
    write(node)
    refresh(node)
    for address in sorted(chosen):
        print(f"{address}: Finished sending firmware: OK (simulated)")
    return 0 if chosen else 1
