# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated boards: PCI ids, memory, ports, power.

Sources: drivers.accel.habanalabs.kernel (PCI ids), hl-smi listings of real cards (names, memory, power, part of the
uuid), docs.habana.ai Network_Configuration and HCL connectivity_autogen_HLS3.cpp (external ports), and
System_Management_Interface_Tool (the least power limit of Gaudi 3).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

VENDOR = "0x1da3"
CLASS = "0x120000"
PORTS = 24
EVERY_MODULE = -1

# One place in the chassis per card: PCI address and module id. Neither is the accel index, as on a real machine.
SLOTS = (
    ("0000:33:00.0", 1),
    ("0000:34:00.0", 0),
    ("0000:4d:00.0", 2),
    ("0000:4e:00.0", 3),
    ("0000:9a:00.0", 5),
    ("0000:9b:00.0", 4),
    ("0000:b3:00.0", 6),
    ("0000:b4:00.0", 7),
)


@dataclass(frozen=True)
class Board:
    """One kind of card. Memory in MiB, power in W, clocks in MHz, temperature in degrees Celsius.

    ``limit_watts`` is its power limit and the most that one may be, ``least_limit_watts`` the least.
    """

    name: str
    device_id: str
    device_type: str
    firmware_name: str
    memory_mib: int
    idle_mib: int
    idle_watts: int
    limit_watts: int
    least_limit_watts: int
    idle_celsius: int
    clock_mhz: int
    link_speed: str
    link_generation: int
    uuid_prefix: str
    model_number: str
    factory_firmware: str
    external_ports: Mapping[int, tuple[int, ...]]

    def external(self, module_id: int) -> tuple[int, ...]:
        """Port numbers that leave the chassis."""
        return self.external_ports.get(module_id, self.external_ports.get(EVERY_MODULE, ()))

    def internal(self, module_id: int) -> tuple[int, ...]:
        """Port numbers that lead to other cards of the node."""
        return tuple(port for port in range(PORTS) if port not in self.external(module_id))


BOARDS = {
    "gaudi3": Board(
        name="HL-325L",
        device_id="0x1060",
        device_type="GAUDI3",
        firmware_name="gaudi3",
        memory_mib=131072,
        idle_mib=672,
        idle_watts=226,
        limit_watts=850,
        least_limit_watts=450,
        idle_celsius=36,
        clock_mhz=1600,
        link_speed="32GT/s",
        link_generation=5,
        uuid_prefix="01P4-HL3090A0-18",
        model_number="F08GL0DIG017A",
        factory_firmware="1.22.0-fw-61.3.2-sec-3",
        external_ports={
            0: (17, 20, 21),
            1: (5, 8, 9),
            2: (5, 8, 9),
            3: (17, 20, 21),
            4: (14, 15, 19),
            5: (2, 3, 7),
            6: (2, 3, 7),
            7: (14, 15, 19),
        },
    ),
    "gaudi2": Board(
        name="HL-225",
        device_id="0x1020",
        device_type="GAUDI2",
        firmware_name="gaudi2",
        memory_mib=98304,
        idle_mib=768,
        idle_watts=85,
        limit_watts=600,
        least_limit_watts=350,  # UNVERIFIED: of Gaudi 2 nothing is published
        idle_celsius=28,
        clock_mhz=1650,
        link_speed="16GT/s",
        link_generation=4,
        uuid_prefix="01P0-HL2080A0-15",
        model_number="F08GL0AIG032A",
        factory_firmware="1.22.0-fw-61.3.1-sec-11",
        external_ports={EVERY_MODULE: (8, 22, 23)},
    ),
    # Not a generation that the sandbox offers: what the fault first_generation turns the cards into.
    "gaudi": Board(
        name="HL-205",
        device_id="0x1000",
        device_type="GAUDI",
        firmware_name="gaudi",
        memory_mib=32768,
        idle_mib=512,
        idle_watts=101,
        limit_watts=350,
        least_limit_watts=200,  # UNVERIFIED, as that of Gaudi 2
        idle_celsius=36,
        clock_mhz=1575,
        link_speed="16GT/s",
        link_generation=4,
        uuid_prefix="00P1-HL2000A0-14",
        model_number="F08GL0AI1000A",
        factory_firmware="1.20.0-fw-58.1.1-sec-7",
        external_ports={EVERY_MODULE: (1, 8, 9)},
    ),
}
