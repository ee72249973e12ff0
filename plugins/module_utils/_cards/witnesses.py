# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Where the kernel, ``hl-smi`` and HLML disagree about a card, with the reason where one is known; pure.

Only what does not change between two questions is compared; a temperature may differ by what a card warms up meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Callable, Union

from .accel_sysfs import AccelDevice
from .hl_smi import decimal, firmware_version
from .hlml import HlmlCard
from .hlml_fields import named
from .readings import reading, whole

KERNEL, HL_SMI, HLML = "the kernel", "hl-smi", "HLML"
# What is asked of HLML to compare it.
OF_HLML = named(
    *("module_id", "serial", "uuid", "status", "firmware_spi", "power_limit", "memory_total"),
    *("ecc_uncorrected_volatile", "rows_pending", "celsius_aip"),
)

Value = Union[int, float, str]


@dataclass(frozen=True)
class Disagreement:
    """``about`` what; ``said`` is each source's word for it; ``reason`` is why they differ, as a clause, or empty."""

    about: str
    said: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""

    def __str__(self) -> str:
        by_word: dict[str, list[str]] = {}
        for source, word in self.said.items():
            by_word.setdefault(word, []).append(source)
        words = ", but ".join(f"{word} according to {' and '.join(by)}" for word, by in by_word.items())
        return f"{self.about} is {words}{f' ({self.reason})' if self.reason else ''}"


@dataclass(frozen=True)
class _Quantity:
    """What the sources say of one thing, with the difference that two may have."""

    about: str
    said: Mapping[str, Value | None]
    unit: str = ""
    tolerance: float = 0
    reason: Callable[[Mapping[str, Value]], str] = field(default=lambda _said: "")


def disagreements(
    device: AccelDevice | None, row: Mapping[str, str | None], listed: Mapping[str, str], told: HlmlCard
) -> tuple[Disagreement, ...]:
    """Of one card: the kernel's device, ``hl-smi -Q`` and ``hl-smi -L``, and HLML. Who says nothing disagrees never."""
    return tuple(filter(None, map(_disagreement, _quantities(device, row, listed, told))))


def _quantities(
    device: AccelDevice | None, row: Mapping[str, str | None], listed: Mapping[str, str], told: HlmlCard
) -> Iterator[_Quantity]:
    status = device.status if device else None
    yield _Quantity(
        "the module ID",
        {
            KERNEL: device.module_id if device else None,
            HL_SMI: whole("module_id", row.get("module_id") or listed.get("Module ID")),
            HLML: told.number("module_id"),
        },
        reason=lambda said: _index_instead(said, device),
    )
    yield _Quantity("the serial number", {HL_SMI: row.get("serial"), HLML: told.text("serial")})
    yield _Quantity("the UUID", {HL_SMI: row.get("uuid"), HLML: told.text("uuid")})
    yield _Quantity("the status", {KERNEL: status, HL_SMI: listed.get("Module status"), HLML: told.text("status")})
    yield _Quantity(
        "the SPI firmware",
        {
            KERNEL: firmware_version(device.preboot_version if device else None),
            HL_SMI: firmware_version(listed.get("Firmware [SPI] Version")),
            HLML: firmware_version(told.text("firmware_spi")),
        },
    )
    yield _Quantity(
        "the power limit",
        {KERNEL: device.power_limit_mw if device else None, HLML: told.number("power_limit")},
        "mW",
        # hl-smi sets whole watts.
        tolerance=1000,
        reason=_other_unit,
    )
    memory = told.number("memory_total")
    yield _Quantity(
        "the size of the memory",
        {HL_SMI: whole("memory.total", row.get("memory.total")), HLML: None if memory is None else memory >> 20},
        "MiB",
        tolerance=1,
        reason=_other_unit,
    )
    errors = "ecc.errors.uncorrected.volatile.total"
    yield _Quantity(
        "the number of uncorrected memory errors",
        {HL_SMI: whole(errors, row.get(errors)), HLML: told.number("ecc_uncorrected_volatile")},
    )
    pending = listed.get("Replaced Rows/Pending")
    yield _Quantity(
        "the number of rows that wait to be replaced",
        {HL_SMI: None if pending is None else int(pending.lower() != "no"), HLML: told.number("rows_pending")},
    )
    yield _temperature(row.get("temperature.aip"), told.number("celsius_aip"))


def _temperature(said: str | None, celsius: int | None) -> _Quantity:
    known, number = reading("temperature.aip", said), decimal(said)
    impossible = known is None and number is not None
    return _Quantity(
        "the temperature",
        {HL_SMI: number if impossible else known, HLML: celsius},
        "C",
        # What a card can warm up by in the seconds between the two questions, and more.
        tolerance=20,
        reason=lambda _said: "hl-smi's value is one that no card can have" if impossible else "",
    )


def _disagreement(one: _Quantity) -> Disagreement | None:
    said = {source: value for source, value in one.said.items() if value is not None}
    values = list(said.values())
    if len(values) < 2 or all(_alike(values[0], other, one.tolerance) for other in values[1:]):
        return None
    words = {source: _word(value, one.unit) for source, value in said.items()}
    return Disagreement(one.about, words, one.reason(said))


def _word(value: Value, unit: str) -> str:
    number = value if isinstance(value, str) else f"{round(value):,}"
    return f"{number} {unit}".strip()


def _alike(one: Value, other: Value, tolerance: float) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return str(one).strip().lower() == str(other).strip().lower()
    return abs(one - other) <= tolerance


def _index_instead(said: Mapping[str, Value], device: AccelDevice | None) -> str:
    """The index of a device changes at each load of the driver, and in some releases it is given for the slot."""
    kernel = said.get(KERNEL)
    wrong = [source for source, value in said.items() if device and value == device.index != kernel]
    return f"{' and '.join(wrong)} gave the card's index, which changes at each load of the driver" if wrong else ""


def _other_unit(said: Mapping[str, Value]) -> str:
    """Releases differ in the unit: W, mW or uW, and bytes, KiB or MiB."""
    numbers = sorted(float(value) for value in said.values() if not isinstance(value, str))
    least, most = numbers[0], numbers[-1]
    factor = most / least if least > 0 else 0
    near = [one for one in (1000, 1024, 1000**2, 1024**2) if abs(factor / one - 1) < 0.01]
    return f"{near[0]:,} times as much: one of them uses another unit" if near else ""
