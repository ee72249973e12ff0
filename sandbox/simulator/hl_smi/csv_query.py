# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``hl-smi -Q FIELD,... -f csv``: one line a card, comma and blank between values, units in header and values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from ..readings import CardReading


@dataclass(frozen=True)
class Query:
    """What a field's value is made from."""

    reading: CardReading
    driver: str
    nic_driver: str | None
    now: datetime


@dataclass(frozen=True)
class Field:
    """A field: its unit ("" without) and its value."""

    unit: str
    value: Callable[[Query], object]


def _fixed(value: object, unit: str = "") -> Field:
    return Field(unit, lambda _query: value)


def _errors(query: Query) -> int:
    return query.reading.uncorrectable_ecc


def _clock(query: Query) -> int:
    return query.reading.board.clock_mhz


def _link_generation(query: Query) -> int:
    return query.reading.board.link_generation


FIELDS: dict[str, Field] = {
    "timestamp": Field("", lambda query: query.now.strftime("%a %b %e %H:%M:%S UTC %Y")),
    "name": Field("", lambda query: query.reading.board.name),
    "bus_id": Field("", lambda query: query.reading.card.pci_address),
    "driver_version": Field("", lambda query: query.driver),
    "nic_driver_version": Field("", lambda query: query.nic_driver or "N/A"),
    "temperature.aip": Field("C", lambda query: query.reading.temperature),
    "module_id": Field("", lambda query: query.reading.card.module_id),
    "utilization.aip": Field("%", lambda query: 100 if query.reading.busy else 0),
    "utilization.memory": Field("%", lambda query: 100 * query.reading.used_mib // query.reading.board.memory_mib),
    "memory.total": Field("MiB", lambda query: query.reading.board.memory_mib),
    "memory.free": Field("MiB", lambda query: query.reading.board.memory_mib - query.reading.used_mib),
    "memory.used": Field("MiB", lambda query: query.reading.used_mib),
    "index": Field("", lambda query: query.reading.index),
    "serial": Field("", lambda query: query.reading.card.serial),
    "uuid": Field("", lambda query: query.reading.card.uuid),
    "power.draw": Field("W", lambda query: query.reading.power),
    "power.max": Field("W", lambda query: query.reading.limit_watts),
    "ecc.errors.uncorrected.aggregate.total": Field("", _errors),
    "ecc.errors.uncorrected.volatile.total": Field("", _errors),
    "ecc.errors.corrected.aggregate.total": _fixed(0),
    "ecc.errors.corrected.volatile.total": _fixed(0),
    "ecc.errors.dram.aggregate.total": Field("", _errors),
    "ecc.errors.dram.volatile.total": Field("", _errors),
    "ecc.errors.dram-corrected.aggregate.total": _fixed(0),
    "ecc.errors.dram-corrected.volatile.total": _fixed(0),
    "ecc.errors.hbm.sram.critical": _fixed(0),
    "ecc.mode.current": _fixed("Enabled"),
    "ecc.mode.pending": _fixed("Enabled"),
    "stats.violation.power": _fixed(0),
    "stats.violation.thermal": _fixed(0),
    "clocks.current.soc": Field("MHz", _clock),
    "clocks.max.soc": Field("MHz", _clock),
    "clocks.limit.soc": Field("MHz", _clock),
    "clocks.limit.tpc": Field("MHz", _clock),
    "pcie.link.gen.max": Field("", _link_generation),
    "pcie.link.gen.current": Field("", _link_generation),
    "pcie.link.width.max": _fixed(16),
    "pcie.link.width.current": _fixed(16),
    "pcie.link.speed.max": Field("", lambda query: query.reading.board.link_speed),
    "pcie.link.speed.current": Field("", lambda query: query.reading.board.link_speed),
}


def page(
    readings: Sequence[CardReading],
    fields: Sequence[str],
    driver: str,
    nic_driver: str | None,
    now: datetime,
    *,
    header: bool,
    units: bool,
) -> str:
    """The lines for these fields, which all exist."""
    lines = [", ".join(_head(name) for name in fields)] if header else []
    for reading in readings:
        query = Query(reading, driver, nic_driver, now)
        lines.append(", ".join(_text(FIELDS[name], query, units=units) for name in fields))
    return "\n".join(lines)


def page_of_nothing(readings: Sequence[CardReading], fields: Sequence[str], *, header: bool) -> str:
    """The same where the tool could read nothing of a card (opea-project/Enterprise-Inference#11)."""
    addresses = (reading.card.pci_address for reading in readings)
    lines = [", ".join(address if name == "bus_id" else "N/A" for name in fields) for address in addresses]
    return "\n".join([", ".join(_head(name) for name in fields), *lines] if header else lines)


def _head(name: str) -> str:
    unit = FIELDS[name].unit
    return f"{name} [{unit}]" if unit else name


def _text(field: Field, query: Query, *, units: bool) -> str:
    value = field.value(query)
    return f"{value} {field.unit}" if units and field.unit else str(value)
