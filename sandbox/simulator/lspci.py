# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``lspci``: the PCI bus of the simulated node, with the cards and one host bridge."""

from __future__ import annotations

import argparse

from .boards import VENDOR
from .node_state import Node, read
from .readings import cards_on_bus

BRIDGE = (
    "0000:00:00.0",
    "0600",
    "8086",
    "09a2",
    "Host bridge",
    "Intel Corporation (simulated)",
)


def main(arguments: list[str]) -> int:
    """Print the devices: ``-d [vendor]:[device][:class]``, ``-s address``, ``-n``, ``-nn``, ``-D``."""
    parser = argparse.ArgumentParser(prog="lspci", description="PCI devices of this simulated node")
    parser.add_argument("-d", dest="select", default="::")
    parser.add_argument("-s", dest="slot")
    parser.add_argument("-n", action="count", default=0, dest="numbers")
    parser.add_argument("-D", action="store_true", dest="domain")
    parser.add_argument("-k", action="store_true", dest="driver")
    parser.add_argument("-v", action="count", default=0)
    options = parser.parse_args(arguments)
    node = read()
    for address, pci_class, vendor, device, kind, name in devices(node):
        if not _selected(options.select, vendor, device, pci_class) or options.slot not in (None, address, address[5:]):
            continue
        shown = address if options.domain else address[5:]
        if options.numbers == 1:
            print(f"{shown} {pci_class}: {vendor}:{device} (rev 01)")
        elif options.numbers:
            print(f"{shown} {kind} [{pci_class}]: {name} [{vendor}:{device}] (rev 01)")
        else:
            print(f"{shown} {kind}: {name} (rev 01)")
        if options.driver and kind != BRIDGE[4] and node.driver:
            print("\tKernel driver in use: habanalabs\n\tKernel modules: habanalabs")
    return 0


def devices(node: Node) -> list[tuple[str, str, str, str, str, str]]:
    """(address, class, vendor, device, kind, name) of everything on the bus."""
    vendor, device = VENDOR[2:], node.board.device_id[2:]
    kind, name = "Processing accelerators", f"Habana Labs Ltd. Device {device}"
    return [BRIDGE, *((card.pci_address, "1200", vendor, device, kind, name) for card in cards_on_bus(node))]


def _selected(pattern: str, *values: str) -> bool:
    parts = [*pattern.lower().split(":"), "", ""]
    return all(part in ("", "*", value) for part, value in zip(parts, values, strict=False))
