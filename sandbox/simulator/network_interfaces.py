# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``manage_network_ifs.sh``: brings the cards' external ports up; every load of the driver takes them down."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace

from .external_ports import ports_of, switch_real
from .kernel_tree import refresh
from .node_state import Node, locked, read, write
from .readings import CardReading, readings

OPERATIONS = ("up", "down", "status", "set-pfc", "unset-pfc", "check-pfc")


def main(arguments: list[str]) -> int:
    """One operation a call, as the vendor's script."""
    parser = argparse.ArgumentParser(prog="manage_network_ifs.sh", description="external ports (simulated)")
    chosen = parser.add_mutually_exclusive_group(required=True)
    for operation in OPERATIONS:
        chosen.add_argument(f"--{operation}", dest="operation", action="store_const", const=operation)
    parser.add_argument("--no-progbar", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    operation = parser.parse_args(arguments).operation
    if shutil.which("ethtool") is None:
        print("manage_network_ifs.sh: ethtool is needed and not installed", file=sys.stderr)
        return 1
    if operation.endswith("pfc"):
        return _priority_flow_control(operation)
    with locked():
        return _run(operation, read())


def _run(operation: str, node: Node) -> int:
    if not readings(node) or "habanalabs_en" not in node.modules:
        print("manage_network_ifs.sh: no habanalabs interfaces found; is habanalabs_en loaded?", file=sys.stderr)
        return 1
    if operation != "status":
        node = replace(node, external_ports_up=operation == "up")
        switch_real(node, operation)
        write(node)
        refresh(node)
    print(status(readings(node)))
    return 0


def _priority_flow_control(operation: str) -> int:
    """With lldptool's output for each port. A setting without effect: a veth has none of it, and lldptool says so."""
    if shutil.which("lldptool") is None:
        print("lldptool is not installed")
        return 1
    with locked():
        node = read()
        if operation != "check-pfc":
            write(replace(node, flow_control=operation == "set-pfc"))
            return 0
    for port in ports_of(node):
        print(f"check_pfc '{port.interface}'\n        enabled={'0,1,2,3' if node.flow_control else 'none'}")
    return 0


def status(found: Sequence[CardReading]) -> str:
    """Two lines a card: its name, and how many external ports are up, and which."""
    lines = []
    for reading in found:
        up = [port for port in reading.board.external(reading.card.module_id) if port in reading.ports_up]
        lines += [f"accel{reading.index}", f"{len(up)} ports up ({', '.join(map(str, up))})"]
    return "\n".join(lines)
