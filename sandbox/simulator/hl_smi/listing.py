# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-smi -L``, ``-q`` and ``-d SECTION``: every reading of every card, one a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from ..readings import CardReading

NAME_WIDTH = 40
BUILD_DATE = "Feb 11 2026 - 10:20:30"

Section = Callable[[CardReading], list[str]]


def page(
    readings: Sequence[CardReading], attached: int, driver: str, hl_smi: str, now: datetime, section: str | None
) -> str:
    """The log. ``attached`` counts all cards, also those that are not shown."""
    lines = ["", "================ HL-SMI LOG ================", ""]
    lines += [_line(0, "Timestamp", now.strftime("%a %b %e %H:%M:%S UTC %Y")), _line(0, "Driver Version", driver)]
    lines += [_line(0, "HL-SMI Version", f"{hl_smi} (simulated)"), "", _line(0, "Attached AIPs", str(attached)), ""]
    chosen = [SECTIONS[section]] if section else list(SECTIONS.values())
    for reading in readings:
        lines.append(f"[{reading.index}] AIP (accel{reading.index}) {reading.card.pci_address}")
        for part in chosen:
            lines += part(reading)
        lines.append("")
    return "\n".join(lines)


def _line(depth: int, name: str, value: str) -> str:
    indent = " " * (8 * depth)
    return f"{indent}{name:<{NAME_WIDTH - len(indent)}}: {value}"


def _heading(name: str) -> str:
    return f"{'':8}{name}"


def product(reading: CardReading) -> list[str]:
    """What the card is, and the firmware it runs."""
    card, board = reading.card, reading.board
    firmware = f"hl-{board.firmware_name}-{reading.firmware}"
    values = {
        "Product Name": board.name,
        "Model Number": board.model_number,
        "Serial Number": card.serial,
        "Module status": reading.status,
        "Module ID": str(card.module_id),
        "PCB Assembly Version": "V0P",
        "PCB Version": "R01",
        "HL Revision": "1",
        "AIP UUID": card.uuid,
        "AIP Status": "Production Level",
        "Firmware [FIT] Version": f"Linux {board.firmware_name} 5.10.18-{firmware} #1 SMP 2026 aarch64 GNU/Linux",
        "Firmware [SPI] Version": f"Preboot version {firmware} ({BUILD_DATE})",
        "Firmware [UBOOT] Version": f"U-Boot 2021.04-{firmware} ({BUILD_DATE} +0000) build#: 1",
        "Firmware [OS] Version": f"Zephyr 2.7.2-{firmware} ({BUILD_DATE})",
        "CPLD Version": "0x00000010",
    }
    return [_line(1, name, value) for name, value in values.items()]


def bus(reading: CardReading) -> list[str]:
    """Where the card is on the PCI bus, and its link."""
    domain, number, slot = reading.card.pci_address.replace(".", ":").split(":")[:3]
    identifier = f"0x1da3{reading.board.device_id[2:]}"
    values = {
        "Bus": f"0x{number}",
        "Device": f"0x{slot}",
        "Domain": f"0x{domain}",
        "Rev": "01",
        "Device Id": identifier,
        "Bus Id": reading.card.pci_address,
        "Sub System Id": identifier,
    }
    lines = [_heading("PCI"), *(_line(2, name, value) for name, value in values.items())]
    lines.append(f"{'':16}AIP Link Info")
    for title, value in (("Link Speed", reading.board.link_speed), ("Link Width", "x16")):
        lines += [f"{'':24}{title}", _line(4, "Max", value), _line(4, "Current", value)]
    return lines


def fan(reading: CardReading) -> list[str]:
    """The cards have none of their own."""
    del reading
    return [_heading("Fan Speed"), _line(4, "", "N/A")]


def memory(reading: CardReading) -> list[str]:
    """Memory in MB, as the tool names it here."""
    total, used = reading.board.memory_mib, reading.used_mib
    values = {"Total": f"{total} MB", "Used": f"{used} MB", "Free": f"{total - used} MB"}
    usage = [_line(2, name, value) for name, value in values.items()]
    return [_line(1, "Memory Type", "HBM"), _heading("Memory Usage"), *usage]


def temperature(reading: CardReading) -> list[str]:
    """All sensors show what the simulation has one value for."""
    sensors = [*(f"On Chip {n}" for n in range(4)), *(f"HBM {n} Temp" for n in range(6)), "CPLD Temp", "VRM1 Temp"]
    lines = [_line(2, f"[{n:>2}] {sensor}", f"{reading.temperature:>3} C") for n, sensor in enumerate(sensors, 1)]
    return [_heading("Temperature"), *lines]


def power(reading: CardReading) -> list[str]:
    """The 54 V rail feeds the card, the 12 V rail what is around it."""
    draw, most, limit = f"{reading.power} W", f"{reading.board.limit_watts} W", f"{reading.limit_watts} W"
    rails = (
        ("54V", {"Power Management": "auto", "Power Draw": draw, "Power Max": most, "Power Limit": limit}),
        ("12V", {"Power Management": "N/A", "Power Draw": "31 W", "Power Max": "50 W", "Power Limit": "50 W"}),
    )
    lines = []
    for rail, values in rails:
        lines += [_heading(f"Power Readings ({rail} PSU)"), *(_line(2, name, value) for name, value in values.items())]
    return lines


def clocks(reading: CardReading) -> list[str]:
    """The clocks, and whether something slows them down."""
    mhz = f"{reading.board.clock_mhz} MHz"
    lines = [_heading("Clocks Throttle Reasons"), _line(2, "HW Slowdown", "Not Active")]
    for title in ("Clocks", "Clocks Max", "Clocks Limit"):
        lines += [_heading(title), _line(2, "[1] soc", mhz)]
    return lines


def network(reading: CardReading) -> list[str]:
    """One address per port."""
    lines = [_line(2, f"[{number:>2}] MAC", address) for number, address in enumerate(reading.macs, 1)]
    return [_heading("Network Information"), *lines]


def rows(reading: CardReading) -> list[str]:
    """Memory rows that were replaced after errors."""
    pending = "Yes" if reading.uncorrectable_ecc else "No"
    values = {"Single Bit ECC": "0", "Double Bit ECC": str(reading.uncorrectable_ecc), "Pending": pending}
    return [_heading("Replaced Rows"), *(_line(2, name, value) for name, value in values.items())]


SECTIONS: dict[str, Section] = {
    "PRODUCT": product,
    "BUS": bus,
    "FAN": fan,
    "MEMORY": memory,
    "TEMPERATURE": temperature,
    "POWER": power,
    "CLOCK": clocks,
    "NET": network,
    "ROW_REPLACEMENT": rows,
}
