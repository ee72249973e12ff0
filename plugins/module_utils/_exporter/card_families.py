# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Metrics of the cards. Base units, and a counter where a value only grows until the driver is loaded again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .._cards.accel_sysfs import HEALTHY_STATUS
from .._cards.hlml_interface import THROTTLING
from .card_readings import CardReading
from .energy import Energy
from .exposition import COUNTER, GAUGE, Family, Sample

# Field of a reading -> metric, kind, help.
VALUES = {
    "celsius": ("gaudi_card_temperature_celsius", GAUGE, "Temperature of the card; 0 is a card that did not start."),
    "limit_celsius": ("gaudi_card_temperature_limit_celsius", GAUGE, "Temperature that a healthy card stays below."),
    "watts": ("gaudi_card_power_watts", GAUGE, "Power on the card's 54 V rail, which is nearly all of it."),
    "limit_watts": ("gaudi_card_power_limit_watts", GAUGE, "The driver's limit of that power."),
    "utilization": ("gaudi_card_utilization_ratio", GAUGE, "How busy the card is, 0 to 1."),
    "memory_bytes": ("gaudi_card_memory_bytes", GAUGE, "Memory of the card."),
    "memory_used_bytes": ("gaudi_card_memory_used_bytes", GAUGE, "Memory in use. A training uses nearly all of it."),
    "clock_hertz": ("gaudi_card_clock_hertz", GAUGE, "Clock of the card now."),
    "clock_max_hertz": ("gaudi_card_clock_max_hertz", GAUGE, "Highest clock of the card."),
    "corrected": (
        "gaudi_card_ecc_corrected_total",
        COUNTER,
        "Corrected memory errors since the driver was loaded.",
    ),
    "uncorrected": (
        "gaudi_card_ecc_uncorrected_total",
        COUNTER,
        "Uncorrected memory errors since the driver was loaded.",
    ),
    "lifetime": (
        "gaudi_card_ecc_uncorrected_lifetime_total",
        COUNTER,
        "Uncorrected memory errors over the card's lifetime.",
    ),
    "least_limit_watts": ("gaudi_card_power_limit_least_watts", GAUGE, "The lowest limit that the card accepts."),
    "most_limit_watts": ("gaudi_card_power_limit_most_watts", GAUGE, "The highest limit that the card accepts."),
    "rows_pending": (
        "gaudi_card_row_replacement_pending",
        GAUGE,
        "1 if a memory row will be replaced at the next reset.",
    ),
    "resets": ("gaudi_card_resets_total", COUNTER, "Resets of the card by the driver, since it was loaded."),
}


def card_families(readings: Sequence[CardReading], energy: Mapping[str, Energy], expected: int) -> Iterable[Family]:
    """``expected`` is how many cards the node is to have; ``energy`` is by PCI address."""
    yield Family("gaudi_cards_expected", "Number of cards that this node should have.", (Sample(expected),))
    yield Family("gaudi_cards_present", "Number of cards on the PCI bus.", (Sample(len(readings)),))
    yield Family(
        "gaudi_cards_driven", "Number of cards that the driver has.", (Sample(sum(one.has_driver for one in readings)),)
    )
    yield Family("gaudi_card_info", "1 for each card: what it is.", tuple(Sample(1, _about(one)) for one in readings))
    yield Family(
        "gaudi_card_operational",
        "1 where the driver says that the card works.",
        tuple(Sample(one.status == HEALTHY_STATUS, _slot(one)) for one in readings if one.has_driver),
    )
    for field, (name, kind, about) in VALUES.items():
        known = ((one, getattr(one, field)) for one in readings)
        yield Family(name, about, tuple(Sample(value, _slot(one)) for one, value in known if value is not None), kind)
    yield Family(
        "gaudi_card_throttled",
        "1 while the card's clock is kept low for this reason.",
        tuple(
            Sample(reason in one.throttled_by, {**_slot(one), "reason": reason})
            for one in readings
            if one.throttled_by is not None
            for reason in THROTTLING
        ),
    )
    yield Family(
        "gaudi_card_throttle_counter_total",
        "The card's own counter of the time in which that was so, in its own unit, since the driver was loaded.",
        tuple(
            Sample(count, {**_slot(one), "reason": reason})
            for one in readings
            for reason, count in one.throttle_counters.items()
        ),
        COUNTER,
    )
    yield Family(
        "gaudi_card_replaced_rows_total",
        "Rows of the memory that were replaced, ever.",
        tuple(
            Sample(count, {**_slot(one), "cause": cause})
            for one in readings
            for cause, count in (("single_bit", one.rows_single_bit), ("double_bit", one.rows_double_bit))
            if count is not None
        ),
        COUNTER,
    )
    yield Family(
        "gaudi_port_counter_total",
        "What an external port of the card counts, by the name that HLML has for it.",
        tuple(
            Sample(count, {**_slot(one), "port": str(port), "counter": name})
            for one in readings
            for port, counters in sorted(one.port_counters.items())
            for name, count in counters.items()
        ),
        COUNTER,
    )
    counted = [(one, energy[one.pci_address]) for one in readings if one.pci_address in energy]
    yield Family(
        "gaudi_card_energy_joules_total",
        "Energy of the card: its own counter, or else sampled power on its 54 V rail.",
        tuple(Sample(found.joules, _slot(one)) for one, found in counted),
        COUNTER,
    )
    yield Family(
        "gaudi_card_energy_gap_seconds_total",
        "Time without power readings, which is not in the energy.",
        tuple(Sample(found.gap_seconds, _slot(one)) for one, found in counted),
        COUNTER,
    )


def _slot(reading: CardReading) -> dict[str, str]:
    return {"card": reading.slot}


def _about(reading: CardReading) -> dict[str, str]:
    names = ("pci_address", "serial", "uuid", "name", "board", "generation", "firmware", "status")
    return {**_slot(reading), **{name: getattr(reading, name) for name in names if getattr(reading, name)}}
