# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the simulated libhlml.so answers from: the cards as text, a line a value, which C reads without a parser.

The same readings as those of hl-smi, in HLML's units: milliwatts, bytes. ``KEY_N`` answers the number N of a question.
"""

from __future__ import annotations

from collections.abc import Mapping

from .boards import PORTS
from .faults import hits
from .hl_smi.listing import BUILD_DATE
from .node_state import Node
from .numa import processors
from .readings import CardReading, readings
from .releases import RELEASES

# Below the simulator's root.
FILE = "hlml"
# Fault -> key of a card, or of the node.
OF_CARD = {
    "hlml_hangs": "hangs",
    "hlml_crashes": "crashes",
    "hlml_lost_card": "lost",
    "hlml_unknown_error": "unknown_error",
}
OF_NODE = {"hlml_leaks": "leaks", "hlml_older": "older"}
THERMAL = 2
# The sandbox's own: of no card anything is published.
THRESHOLDS = (105, 100, 105, 100)
VIOLATION_US = 1_000_000


def text(node: Node, cpus: int) -> str:
    """The whole file. Without the driver it has no version of one, and no card."""
    lines = [f"{key} 1" for name, key in OF_NODE.items() if name in node.faults]
    if node.driver is not None:
        lines.append(f"driver {RELEASES[node.driver].driver}")
    if network := node.modules.get("habanalabs_en"):
        lines.append(f"nic_driver {RELEASES[network].nic_driver}")
    for reading in readings(node):
        lines.append(f"card {reading.card.pci_address}")
        lines += [f"{key} {value}" for key, value in _values(node, reading, cpus).items()]
    return "\n".join([*lines, ""])


def _values(node: Node, reading: CardReading, cpus: int) -> Mapping[str, object]:
    return {
        **_identity(node, reading),
        **_readings(node, reading),
        **_place(reading, cpus),
        **{key: 1 for name, key in OF_CARD.items() if hits(node.faults, name, reading.card.module_id)},
    }


def _identity(node: Node, reading: CardReading) -> Mapping[str, object]:
    card, board = reading.card, reading.board
    firmware = f"hl-{board.firmware_name}-{reading.firmware}"
    degraded = hits(node.faults, "degraded_pcie", card.module_id)
    speed = int(board.link_speed.removesuffix("GT/s"))
    return {
        "index": reading.index,
        "bus_id": card.pci_address,
        "bus": int(card.pci_address.split(":")[1], 16),
        "pci_device_id": f"{board.device_id}1da3",
        "pci_rev": 1,
        "link_speed": f"{speed >> degraded}GT/s",
        "max_link_speed": board.link_speed,
        "link_lanes": "x8" if degraded else "x16",
        "max_link_lanes": "x16",
        "link_width": 8 if degraded else 16,
        "link_generation": board.link_generation - degraded,
        "module_id": card.module_id,
        "board_id": card.module_id,
        "revision": 1,
        "serial": card.serial,
        "uuid": card.uuid,
        "name": board.name,
        "model": board.model_number,
        "status": reading.status,
        "pcb": "R01",
        "pcb_assembly": "V0P",
        "fit": f"Linux {board.firmware_name} 5.10.18-{firmware}",
        "spi": f"Preboot version {firmware} ({BUILD_DATE})",
        "boot": f"U-Boot 2021.04-{firmware}",
        "os": f"Zephyr 2.7.2-{firmware}",
        "cpld": "0x00000010",
    }


def _readings(node: Node, reading: CardReading) -> Mapping[str, object]:
    board, errors = reading.board, reading.uncorrectable_ecc
    hot = hits(node.faults, "hot_card", reading.card.module_id)
    return {
        "power": reading.power * 1000,
        "limit": reading.limit_watts * 1000,
        "least_limit": board.least_limit_watts * 1000,
        "most_limit": board.limit_watts * 1000,
        "since_us": round(node.loaded_at * 1e6),
        "utilization": 100 if reading.busy else 0,
        "memory_utilization": 100 * reading.used_mib // board.memory_mib,
        "memory_total": board.memory_mib << 20,
        "memory_used": reading.used_mib << 20,
        **{f"celsius_{sensor}": reading.temperature for sensor in range(6)},
        **{f"threshold_{which}": celsius for which, celsius in enumerate(THRESHOLDS)},
        **{f"{name}_{which}": board.clock_mhz for name in ("clock", "max_clock", "clock_limit") for which in range(4)},
        "throttle_reasons": THERMAL if hot else 0,
        "violation_0": 0,
        "violation_1": VIOLATION_US if hot else 0,
        "ecc_0": 0,
        "ecc_1": errors,
        "rows_0": 0,
        "rows_1": errors,
        "rows_pending": int(errors > 0),
        "enabled": 1,
        "performance_state": 0,
        "replays": 0,
        "throughput_0": 0,
        "throughput_1": 0,
    }


def _place(reading: CardReading, cpus: int) -> Mapping[str, object]:
    card = reading.card
    return {
        "numa_node": card.numa_node,
        "cpu_mask": _words(_mask(processors(card.numa_node, cpus)), cpus),
        "ports": hex(_mask(range(PORTS))),
        "external_ports": hex(_mask(reading.board.external(card.module_id))),
        "ports_up": hex(_mask(reading.ports_up)),
        "first_mac": reading.macs[0],
    }


def _mask(numbers: range | tuple[int, ...] | frozenset[int]) -> int:
    return sum(1 << number for number in numbers)


def _words(mask: int, cpus: int) -> str:
    """Words of 64 bits in hexadecimal, the lowest first."""
    return " ".join(f"{mask >> start & (1 << 64) - 1:x}" for start in range(0, cpus, 64))
