# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a node's cards are like at a moment: by PCI bus, by the driver's files, by one call of ``hl-smi``, and by HLML.

The call answers while a job holds the cards. It may take seconds, and hang where a card does: who asks bounds it, and
what it did not say is None. HLML, the library below it, is asked where it did, for what the text does not have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from .._cards.accel_sysfs import AccelDevice, PciCard, accel_devices, attribute, pci_cards
from .._cards.hardware import board_of, external_ports, generation_of
from .._cards.hl_smi import decimal, firmware_version, parse_query
from .._cards.hlml import HlmlCard, HlmlReading, ask_hlml
from .._cards.hlml_fields import named, of_ports
from .._cards.readings import reading
from .._node.commands import Run

# By their names in the vendor's manual. power.draw is that of the 54 V rail alone, which is nearly all.
FIELDS = (
    *("bus_id", "name", "serial", "uuid", "temperature.aip", "utilization.aip", "power.draw"),
    *("memory.total", "memory.used"),
    *("ecc.errors.uncorrected.volatile.total", "ecc.errors.corrected.volatile.total"),
    "ecc.errors.uncorrected.aggregate.total",
)
OF_HLML = named(
    *("energy", "throttle_reasons", "rows_replaced_single", "rows_replaced_double", "rows_pending"),
    *("power_least_limit", "power_most_limit", "throttled_by_power", "throttled_by_thermal"),
)
# A library that hangs does so at each interval, and all else of the cards waits for it.
HLML_SECONDS = 5.0


@dataclass(frozen=True)
class CardReading:
    """One card. ``slot`` is its module id, or its PCI address where no driver tells one: never the index of a device,
    which changes at each load of the driver. Units as in the names; None is not known.

    ``corrected`` and ``uncorrected`` count errors of the memory since the driver was loaded, ``lifetime`` ever;
    ``energy_mj`` counts since then, too; so does ``throttle_counters``, by reason, in a unit that is not published.
    ``port_counters`` are those of the external ports, by number and name.
    """

    slot: str
    pci_address: str
    board: str = ""
    generation: str = ""
    name: str = ""
    serial: str = ""
    uuid: str = ""
    firmware: str = ""
    status: str = ""
    has_driver: bool = False
    celsius: float | None = None
    limit_celsius: float | None = None
    watts: float | None = None
    limit_watts: float | None = None
    utilization: float | None = None
    memory_bytes: float | None = None
    memory_used_bytes: float | None = None
    clock_hertz: float | None = None
    clock_max_hertz: float | None = None
    corrected: float | None = None
    uncorrected: float | None = None
    lifetime: float | None = None
    resets: float | None = None
    energy_mj: int | None = None
    throttled_by: tuple[str, ...] | None = None
    throttle_counters: Mapping[str, int] = field(default_factory=dict)
    port_counters: Mapping[int, Mapping[str, int]] = field(default_factory=dict)
    rows_single_bit: int | None = None
    rows_double_bit: int | None = None
    rows_pending: int | None = None
    least_limit_watts: float | None = None
    most_limit_watts: float | None = None


def read_cards(
    run: Run, kernel_root: str, seconds: float, port_counters: bool = False
) -> tuple[tuple[CardReading, ...], bool]:
    """The cards by slot, and whether ``hl-smi`` answered for any of them within ``seconds``.

    ``port_counters`` also asks HLML what the external ports count.
    """
    cards, devices = pci_cards(kernel_root), {device.pci_address: device for device in accel_devices(kernel_root)}
    said = run(("hl-smi", "-Q", ",".join(FIELDS), "-f", "csv"), timeout=seconds).stdout if devices else ""
    rows = {str(row["bus_id"]).lower(): row for row in parse_query(said) if row.get("bus_id")}
    told = ask_hlml(run, list(devices), OF_HLML, seconds=min(seconds, HLML_SECONDS)) if rows else HlmlReading()
    readings = [
        _with_hlml(
            _reading(card, devices.get(card.pci_address), rows.get(card.pci_address, {}), kernel_root),
            told.card(card.pci_address),
        )
        for card in cards
    ]
    if port_counters and rows and not told.reason:
        readings = _with_ports(run, readings, cards, devices, seconds)
    return tuple(sorted(readings, key=lambda reading: (len(reading.slot), reading.slot))), bool(rows)


def _with_ports(
    run: Run,
    readings: Sequence[CardReading],
    cards: Iterable[PciCard],
    devices: Mapping[str, AccelDevice],
    seconds: float,
) -> list[CardReading]:
    """Asked apart from all else, so that a port that does not answer costs nothing but ports."""
    ports = {
        card.pci_address: external_ports(card.pci_id, device.module_id)
        for card in cards
        if (device := devices.get(card.pci_address)) and device.module_id is not None
    }
    asked = of_ports(sorted({port for some in ports.values() for port in some}))
    if not asked:
        return list(readings)
    told = ask_hlml(run, list(ports), asked, seconds=min(seconds, HLML_SECONDS))
    return [
        replace(
            reading,
            port_counters={
                port: counters
                for port, counters in told.card(reading.pci_address).port_counters.items()
                if port in ports.get(reading.pci_address, ())
            },
        )
        for reading in readings
    ]


def _reading(pci: PciCard, device: AccelDevice | None, row: dict[str, str | None], kernel_root: str) -> CardReading:
    board, generation = board_of(pci.pci_id), generation_of(pci.pci_id)
    of_driver = Path(kernel_root, f"sys/class/accel/accel{device.index}/device") if device else None
    clock, fastest, limit, resets = (
        reading(name, attribute(of_driver, name)) if of_driver else None
        for name in ("clk_cur_freq_mhz", "clk_max_freq_mhz", "max_power", "hard_reset_cnt")
    )
    percent = reading("utilization.aip", row.get("utilization.aip"))
    return CardReading(
        slot=pci.pci_address if device is None or device.module_id is None else str(device.module_id),
        pci_address=pci.pci_address,
        board=board.label if board else "",
        generation=generation.name if generation else "",
        name=row.get("name") or "",
        serial=row.get("serial") or "",
        uuid=row.get("uuid") or "",
        firmware=firmware_version(device.preboot_version if device else None) or "",
        status=(device.status if device else None) or "",
        has_driver=device is not None,
        celsius=reading("temperature.aip", row.get("temperature.aip")),
        limit_celsius=generation.temperature_limit_c if generation else None,
        watts=reading("power.draw", row.get("power.draw")),
        limit_watts=scaled(limit, 1e-3),
        utilization=scaled(percent, 0.01),
        memory_bytes=scaled(reading("memory.total", row.get("memory.total")), 1 << 20),
        memory_used_bytes=scaled(reading("memory.used", row.get("memory.used")), 1 << 20),
        clock_hertz=scaled(clock, 1e6),
        clock_max_hertz=scaled(fastest, 1e6),
        corrected=reading("ecc.errors.corrected.volatile.total", row.get("ecc.errors.corrected.volatile.total")),
        uncorrected=reading("ecc.errors.uncorrected.volatile.total", row.get("ecc.errors.uncorrected.volatile.total")),
        lifetime=reading("ecc.errors.uncorrected.aggregate.total", row.get("ecc.errors.uncorrected.aggregate.total")),
        resets=resets,
    )


def _with_hlml(reading: CardReading, told: HlmlCard) -> CardReading:
    return replace(
        reading,
        energy_mj=told.number("energy"),
        throttled_by=told.throttled_by,
        throttle_counters=told.throttle_counters,
        rows_single_bit=told.number("rows_replaced_single"),
        rows_double_bit=told.number("rows_replaced_double"),
        rows_pending=told.number("rows_pending"),
        least_limit_watts=scaled(told.number("power_least_limit"), 1e-3),
        most_limit_watts=scaled(told.number("power_most_limit"), 1e-3),
    )


def number(text: str | None) -> float | None:
    """The number that a value begins with; None where there is none, or none that is finite or counts anything."""
    value = decimal(text)
    return value if value is not None and abs(value) < 1e15 else None


def scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
