# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The table that ``hl-smi`` prints without options. It has no place for the word "simulated": parsers read it all."""

from __future__ import annotations

from collections.abc import Sequence

from ..readings import CardReading

EDGE = "+" + "-" * 77 + "+"
RULE = "|" + "-" * 31 + "+" + "-" * 22 + "+" + "-" * 22 + "+"
HEAD_RULE = "|" + "=" * 31 + "+" + "=" * 22 + "+" + "=" * 22 + "|"
HEADS = (
    "| AIP  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncor-Events|",
    "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | AIP-Util  Compute M. |",
)
PROCESS_HEADS = (
    "| Compute Processes:                                               AIP Memory |",
    "|  AIP       PID   Type   Process name                             Usage      |",
    "|" + "=" * 77 + "|",
)
END = "+" + "=" * 77 + "+"


def page(readings: Sequence[CardReading], hl_smi: str, driver: str, nic_driver: str | None) -> str:
    """The whole table."""
    lines = [EDGE, _version("HL-SMI Version:", hl_smi), _version("Driver Version:", driver)]
    lines += [_version("Nic Driver Version:", nic_driver or "N/A"), RULE, *HEADS, HEAD_RULE]
    for reading in readings:
        lines += [*_rows(reading), RULE]
    return "\n".join([*lines, *PROCESS_HEADS, *(_process(reading) for reading in readings), END])


def _version(title: str, value: str) -> str:
    return f"| {title}{value:>{66 - len(title)}}{'':10}|"


def _rows(reading: CardReading) -> tuple[str, str]:
    board = reading.board
    power = f"{reading.power:>4}W / {reading.limit_watts:>4}W"
    memory = f"{reading.used_mib}MiB / {board.memory_mib}MiB"
    used = "100%" if reading.busy else "0%"
    address, errors = reading.card.pci_address, reading.uncorrectable_ecc
    return (
        f"| {reading.index:>3}  {board.name:<19} N/A  | {address}     N/A |{errors:>20}  |",
        f"| N/A {reading.temperature:>4}C   P0 {power}  | {memory:>20} |{used:>7}{used:>14} |",
    )


def _process(reading: CardReading) -> str:
    # A listing of a held card is not public; the columns are those of the heads.
    pid, kind, name = ("4242", "C", "simulated-workload") if reading.busy else ("N/A", "N/A", "N/A")
    usage = f"{reading.used_mib}MiB" if reading.busy else "N/A"
    return f"| {reading.index:>3} {pid:>10}   {kind:<6} {name:<40} {usage:<11}|"
