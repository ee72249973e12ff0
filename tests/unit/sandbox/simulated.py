# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Nodes in the states that the tests of the simulator start from."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox.simulator.kernel_modules.modprobe import with_modules
from sandbox.simulator.kernel_tree import Machine
from sandbox.simulator.node_state import Node, new_node, replace

RELEASE = "1.24.1-482"
MODULES = ("habanalabs_compat", "habanalabs", "habanalabs_cn", "habanalabs_en", "habanalabs_ib")
MACHINE = Machine(
    meminfo="MemTotal:       24683120 kB\nHugePages_Total:       0\nHugepagesize:       1048576 kB\n",
    cpuinfo="processor\t: 0\n",
    cpus=4,
    command_line="BOOT_IMAGE=/boot/vmlinuz-6.1.0-56-amd64 ro quiet",
    boot_id="5a4d0b0e-0000-4000-8000-000000000002",
    boot_time="1795000000",
    hugepages=221,
)


def virgin(generation: str = "gaudi3", cards: int = 8) -> Node:
    """A node as it comes out of its box."""
    return new_node(generation, cards, "6.1.0-56-amd64", "node1")


def loaded(
    generation: str = "gaudi3", modules: tuple[str, ...] = MODULES, faults: Mapping[str, object] | None = None
) -> Node:
    """A node with the driver loaded for the eighth time, so that accel indices follow the slots."""
    node = replace(virgin(generation), loads=7, faults=faults or {})
    return with_modules(node, modules, RELEASE)
