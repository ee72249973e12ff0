# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node with healthy Gaudi 3 cards for tests: a kernel tree to read, and an hl-smi that answers for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult

# In the order of module ids; the accel index runs the other way, as it may on a real server.
ADDRESSES = tuple(f"0000:{bus}:00.0" for bus in ("19", "3b", "4c", "5d", "9b", "bb", "cb", "dc"))
SPI = "Preboot version hl-gaudi3-1.22.0-fw-61.3.2-sec-3 (Jul 01 2025 - 10:00:00)"
MODULES = ("habanalabs_compat", "habanalabs", "habanalabs_cn", "habanalabs_en", "habanalabs_ib")


def write_kernel(
    root: Path,
    addresses: Sequence[str] = ADDRESSES,
    pci_id: str = "0x1060",
    driver: bool = True,
    kernel: str = "6.8.0-45-generic",
    command_line: str = "root=/dev/sda1 iommu=pt intel_iommu=on",
) -> Path:
    """The sys and proc of a node; ``driver`` False is a node on which nothing is installed."""
    for position, address in enumerate(addresses):
        pci = root / "sys/bus/pci/devices" / address
        _values(pci, vendor="0x1da3", device=pci_id, **{"class": "0x120000"}, numa_node=str(position // 4))
        _values(pci, current_link_speed="32.0 GT/s PCIe", current_link_width="16")
        if driver:
            accel = root / f"sys/class/accel/accel{len(addresses) - 1 - position}"
            _values(pci, status="Operational", module_id=str(position), pci_addr=address)
            _values(pci, driver_ver="1.24.1-b336d5e", preboot_btl_ver=SPI)
            accel.mkdir(parents=True)
            (accel / "device").symlink_to(pci)
            # Its number is that of no other name of the card.
            verbs = root / f"sys/class/infiniband/hbl_{position}"
            verbs.mkdir(parents=True)
            (verbs / "device").symlink_to(pci)
    # A bridge and a network card, so that other devices are there to be left out.
    _values(root / "sys/bus/pci/devices/0000:00:1f.0", vendor="0x8086", device="0xa305", **{"class": "0x060100"})
    _values(root / "sys/bus/pci/devices/0000:22:00.0", vendor="0x15b3", device="0x1021", **{"class": "0x020000"})
    modules = "".join(f"{name} 16384 0 - Live 0x0\n" for name in MODULES) if driver else ""
    _values(root / "proc", cmdline=command_line, modules=f"{modules}ext4 737280 1 - Live 0x0\n")
    _values(root / "proc", meminfo="MemTotal: 1056459720 kB\nHugePages_Total: 17601\nHugepagesize: 2048 kB\n")
    _values(root / "proc/sys/kernel", osrelease=kernel)
    _values(root / "proc/sys/vm", nr_hugepages="17601")
    return root


def _values(directory: Path, **values: str) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, value in values.items():
        (directory / name).write_text(f"{value}\n", encoding="utf-8")


@dataclass
class HlSmi:
    """An hl-smi for ``addresses``; ``cells`` replaces query values and ``down`` ports, both by address."""

    addresses: Sequence[str] = ADDRESSES
    cells: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    spi: Mapping[str, str] = field(default_factory=dict)
    down: Mapping[str, Sequence[int]] = field(default_factory=dict)
    calls: list[tuple[str, ...]] = field(default_factory=list)

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        self.calls.append(tuple(argv))
        answers = {"-L": self._listing, "-Q": self._query, "-n": self._links}
        if argv[0] != "hl-smi":
            return CommandResult(127, "", f"{argv[0]}: not installed")
        return CommandResult(0, answers[argv[1]](argv), "")

    def _listing(self, argv: Sequence[str]) -> str:
        blocks = [
            f"[{number}] AIP (accel{number}) {address}\n"
            f"        Firmware [SPI] Version          : {self.spi.get(address, SPI)}\n"
            f"        Replaced Rows\n                Pending                 : No\n"
            for number, address in enumerate(self.addresses)
        ]
        head = "Driver Version : 1.24.1-b336d5e\nHL-SMI Version : hl-1.24.0-fw-62.6.2.0 (Apr 02 2026 - 01:19:50)\n\n"
        return head + "\n".join(blocks)

    def _query(self, argv: Sequence[str]) -> str:
        fields = argv[2].split(",")
        healthy = {
            "name": "HL-325L",
            "driver_version": "1.24.1-b336d5e",
            "nic_driver_version": "1.24.1-ead2cb0",
            "memory.total": "131072 MiB",
            "memory.used": "672 MiB",
            "temperature.aip": "36 C",
            "utilization.aip": "0 %",
            "power.draw": "226 W",
        }
        rows = [
            {**healthy, "bus_id": address, "module_id": str(module), **self.cells.get(address, {})}
            for module, address in enumerate(self.addresses)
        ]
        return "\n".join([", ".join(fields), *(", ".join(row.get(name, "0") for name in fields) for row in rows)])

    def _links(self, argv: Sequence[str]) -> str:
        address = argv[argv.index("-i") + 1]
        down = self.down.get(address, ())
        return "\n".join(f"port {port:2d}:        {'DOWN' if port in down else 'UP'}" for port in range(24))
