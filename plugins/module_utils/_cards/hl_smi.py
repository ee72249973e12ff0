# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What ``hl-smi`` prints, as values.

The exit codes of the tool are not documented, so only its output counts: text without the expected lines gives empty
results. Layouts: System_Management_Interface_Tool on docs.habana.ai and operators' published listings (1.12 to 1.24).
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

QUERY_FIELDS = (
    "name",
    "bus_id",
    "driver_version",
    "nic_driver_version",
    "module_id",
    "uuid",
    "serial",
    "memory.total",
    "memory.used",
    "temperature.aip",
    "utilization.aip",
    "power.draw",
    "ecc.errors.uncorrected.volatile.total",
    "ecc.errors.uncorrected.aggregate.total",
)

_VERSION_LINE = re.compile(r"^[|\s]*(HL-SMI|Nic Driver|Driver) Version\s*:\s*(\S+)", re.MULTILINE)
_CARD_LINE = re.compile(r"^\[\s*\d+\]\s.*?([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])\s*$")
_ENTRY = re.compile(r"^(?P<indent>\s*)(?P<key>.*?)\s*:(?:\s+(?P<value>.*))?$")
_PORT_LINE = re.compile(r"^\s*port\s+(\d+)\s*:\s*(\w+)\s*$", re.MULTILINE | re.IGNORECASE)
_UNIT_OF_HEADING = re.compile(r"\s*\[[^\]]*\]\s*$")
_FIRMWARE = re.compile(r"\d+\.\d+\.\d+-fw-?\d+(?:\.\d+)+(?:-sec-\d+)?")
# Nothing of 0x1f, 1.2.3 or 1e400 is a decimal number.
_NUMBER = re.compile(r"\s*(-?(?:\d{1,3}(?:,\d{3})+|\d{1,18})(?:\.\d{1,18})?)(?![\d.,]|[xe][\da-f+-])", re.IGNORECASE)
# Thousands: a comma between digits, which no blank follows as it does between cells.
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NOT_A_VALUE = frozenset({"", "n/a", "[n/a]", "not supported", "[not supported]", "unknown"})


@dataclass(frozen=True)
class Versions:
    """Versions as the tool prints them, for example ``hl-1.24.0-fw-62.6.2.0`` and ``1.24.1-b336d5e``."""

    hl_smi: str | None = None
    driver: str | None = None
    nic_driver: str | None = None


@dataclass(frozen=True)
class Listing:
    """``hl-smi -L``: per PCI address the lines of its block.

    The key of a nested line is ``<heading>/<key>``, as in ``Replaced Rows/Pending``.
    """

    versions: Versions = field(default_factory=Versions)
    cards: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def parse_versions(text: str) -> Versions:
    """The versions above the table of ``hl-smi`` and above the cards of ``hl-smi -L``."""
    found = dict(_VERSION_LINE.findall(text))
    return Versions(found.get("HL-SMI"), found.get("Driver"), found.get("Nic Driver"))


def parse_listing(text: str) -> Listing:
    """The blocks of ``hl-smi -L`` and of ``hl-smi --fw-versions``, by PCI address in lower case."""
    cards: dict[str, dict[str, str]] = {}
    block: list[str] = []
    blocks: dict[str, list[str]] = {}
    for line in text.splitlines():
        start = _CARD_LINE.match(line)
        if start:
            block = blocks.setdefault(start.group(1).lower(), [])
        else:
            block.append(line)
    for address, lines in blocks.items():
        cards[address] = _block_entries(lines)
    return Listing(parse_versions(text), cards)


def _block_entries(lines: Sequence[str]) -> dict[str, str]:
    filled = [line for line in lines if line.strip()]
    outer = min((len(line) - len(line.lstrip()) for line in filled), default=0)
    entries: dict[str, str] = {}
    heading = ""
    for line in filled:
        match = _ENTRY.match(line)
        if match is None:
            if len(line) - len(line.lstrip()) == outer:
                heading = line.strip()
            continue
        nested = len(match["indent"]) > outer
        key = f"{heading}/{match['key'].strip()}" if nested else match["key"].strip()
        # Of several values under one heading (maximum, current) the first is kept; none of them is read here.
        entries.setdefault(key, (match["value"] or "").strip())
    return entries


def parse_query(text: str) -> list[dict[str, str | None]]:
    """``hl-smi -Q <fields> -f csv``: a dictionary per card, keys without their units, None where there is no value.

    The heading is the line that has ``bus_id``, which has to be among the fields; what stands before it is passed over.
    """
    lines = text.splitlines()
    rows = [_cells(line) for line in lines]
    headings = [[_UNIT_OF_HEADING.sub("", cell) for cell in row] for row in rows]
    start = next((position for position, keys in enumerate(headings) if "bus_id" in keys), len(rows))
    wanted = len(headings[start]) if start < len(rows) else 0
    found = []
    for line, row in zip(lines[start + 1 :], rows[start + 1 :]):
        cells = row if len(row) <= wanted else _cells(_THOUSANDS.sub("", line))
        if len(cells) == wanted:
            found.append({key: _value(cell) for key, cell in zip(headings[start], cells)})
    return found


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], skipinitialspace=True), [])]


def parse_links(text: str) -> dict[int, bool]:
    """``hl-smi -n link``: port number to whether the link is up."""
    return {int(port): state.upper() == "UP" for port, state in _PORT_LINE.findall(text)}


def decimal(value: str | None) -> float | None:
    """The number of a value with a unit (``672 MiB``, ``36C``, ``85.5 W``, ``505,712,272 C``); None where none is."""
    match = _NUMBER.match(value or "")
    return float(match.group(1).replace(",", "")) if match else None


def number(value: str | None) -> int | None:
    """The same, rounded."""
    found = decimal(value)
    return None if found is None else round(found)


def firmware_version(text: str | None) -> str | None:
    """``1.22.0-fw-61.3.2-sec-3`` of ``Preboot version hl-gaudi3-1.22.0-fw-61.3.2-sec-3 (Jul 01 2025 - 10:00:00)``.

    Text of another shape is returned as it is, so that eight cards can still be compared.
    """
    if text is None or _value(text) is None:
        return None
    match = _FIRMWARE.search(text)
    return match.group(0) if match else text.strip()


def _value(cell: str) -> str | None:
    return None if cell.strip().lower() in _NOT_A_VALUE else cell.strip()
