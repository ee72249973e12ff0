# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What is asked of HLML: each field with its function, unit and range. What is outside of its range is not known.

Ranges are as wide as those of ``readings.py``, and for the same reason: they tell what means something from what does
not. What takes long (PCIe throughput, 25 ms for each direction) is not among them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Union

from .hlml_interface import (
    CAUSES,
    CLOCKS,
    COUNTER_NAME,
    COUNTERS,
    ERRORS,
    FUNCTIONS,
    MOST_PORT_COUNTERS,
    POINTED_TO,
    POLICIES,
    SENSORS,
)

# A word of a call, as hlml_reader.py takes it: "device", a number, NULL, or an output.
Word = Union[str, int, None, "list[object]"]

_LONGEST = {"text30": 30, "text32": 32, "text128": 128}


class Field(NamedTuple):
    """``given`` are the numbers that the function takes; ``pick`` is which of its values the field is.

    Of a text ``most`` is 0. ``unit`` is "" where a number counts, names or stands for a mask.
    """

    name: str
    function: str
    given: tuple[int, ...] = ()
    pick: int = 0
    unit: str = ""
    least: int = 0
    most: int = 0

    @property
    def is_text(self) -> bool:
        """Whether its value is a text."""
        return not self.most and not self.is_counters

    @property
    def is_counters(self) -> bool:
        """Whether it is all that a port counts, by name."""
        return self.function == STATISTICS

    @property
    def source(self) -> str:
        """Who says so, as a reader of a report looks it up."""
        return f"HLML {self.function}"


_WATT = 1000  # mW
_ERRORS = 1_000_000
_CORRECTED = 1_000_000_000
_MHZ = 10_000
_HBM = 1 << 41
_EVER = (1 << 63) - 1

VERSION = "hlml_get_hlml_version"
HANDLE = "hlml_device_get_handle_by_pci_bus_id"
# Whose answer is held against the address that was asked for.
IDENTITY = "hlml_device_get_pci_info"
STATISTICS = "hlml_nic_get_statistics"
# Without these a library is none.
NEEDED = (VERSION, HANDLE, IDENTITY)

OF_LIBRARY: tuple[Field, ...] = (
    Field("hlml_version", VERSION),
    Field("driver_version", "hlml_get_driver_version"),
    Field("nic_driver_version", "hlml_get_nic_driver_version"),
)

_POWER = "hlml_device_get_power"
OF_CARD: tuple[Field, ...] = (
    # The address first: without it nobody knows of which card the rest is.
    Field("pci_address", IDENTITY, pick=1),
    Field("serial", "hlml_device_get_serial"),
    Field("uuid", "hlml_device_get_uuid"),
    Field("name", "hlml_device_get_name"),
    Field("module_id", "hlml_device_get_module_id", most=63),
    Field("index", "hlml_device_get_minor_number", most=255),
    Field("status", "hlml_device_get_oper_status"),
    Field("firmware_spi", "hlml_get_firmware_spi_version"),
    Field("firmware_os", "hlml_get_fw_os_version"),
    Field("cpld", "hlml_get_cpld_version"),
    Field("power", f"{_POWER}_usage", unit="mW", most=2000 * _WATT),
    Field("power_limit", f"{_POWER}_management_limit", unit="mW", least=1, most=2000 * _WATT),
    Field("power_default_limit", f"{_POWER}_management_default_limit", unit="mW", least=1, most=2000 * _WATT),
    Field("power_least_limit", f"{_POWER}_management_limit_constraints", unit="mW", least=1, most=2000 * _WATT),
    Field("power_most_limit", f"{_POWER}_management_limit_constraints", pick=1, unit="mW", least=1, most=2000 * _WATT),
    # Since the driver was loaded.
    Field("energy", "hlml_device_get_total_energy_consumption", unit="mJ", most=_EVER),
    Field("throttle_reasons", "hlml_device_get_current_clocks_throttle_reasons", least=0, most=3),
    # UNVERIFIED: the unit. NVML, whose names these are, counts the violation in nanoseconds.
    *(Field(f"throttled_by_{name}", "hlml_device_get_violation_status", (number,), 1, most=_EVER)
      for name, number in POLICIES.items()),
    *(Field(f"clock_{name}", "hlml_device_get_clock_info", (CLOCKS[name],), unit="MHz", most=_MHZ)
      for name in ("soc", "mme", "tpc")),
    *(Field(f"clock_max_{name}", "hlml_device_get_max_clock_info", (CLOCKS[name],), unit="MHz", least=1, most=_MHZ)
      for name in ("soc", "mme", "tpc")),
    Field("memory_free", "hlml_device_get_memory_info", unit="B", most=_HBM),
    Field("memory_total", "hlml_device_get_memory_info", pick=1, unit="B", least=1, most=_HBM),
    Field("memory_used", "hlml_device_get_memory_info", pick=2, unit="B", most=_HBM),
    # More than 100 has been seen of it (nvtop): it is derived from power.
    Field("utilization", "hlml_device_get_utilization_rates", unit="%", most=200),
    *(Field(f"ecc_{error}_{counter}", "hlml_device_get_total_ecc_errors", (ERRORS[error], COUNTERS[counter]),
            most=_ERRORS if error == "uncorrected" else _CORRECTED)
      for error in ERRORS for counter in COUNTERS),
    *(Field(f"rows_replaced_{short}", "hlml_device_get_replaced_rows", (CAUSES[cause],), most=10_000)
      for short, cause in (("single", "multiple_single_bit_ecc_errors"), ("double", "double_bit_ecc_error"))),
    # A row waits for the next reset of the card.
    Field("rows_pending", "hlml_device_get_replaced_rows_pending_status", most=1),
    Field("pcie_replays", "hlml_device_get_pcie_replay_counter", most=_EVER),
    # Leaks at each call (nvtop), which the end of the process takes back.
    *(Field(f"celsius_{name}", "hlml_device_get_temperature", (SENSORS[name],), unit="C", most=150)
      for name in ("aip", "board", "hbm")),
)  # fmt: skip


def of_ports(ports: Iterable[int]) -> tuple[Field, ...]:
    """What these ports of a card count, each by name."""
    return tuple(Field(f"port_{port}", STATISTICS, (port,)) for port in ports)


def named(*names: str) -> tuple[Field, ...]:
    """The fields of a card with these names."""
    by_name = {one.name: one for one in OF_CARD}
    return tuple(by_name[name] for name in names)


def calls(fields: Iterable[Field]) -> list[dict[str, object]]:
    """What hlml_reader.py is asked: each function once for each of its numbers, and its words.

    A call's name is that of its first field.
    """
    return [
        {"name": name, "function": ones[0].function, "parameters": words(ones[0].function, ones[0].given)}
        for name, ones in sharing(fields).items()
    ]


def words(function: str, given: Sequence[int]) -> list[Word]:
    """The parameters of a call, ``given`` in the places of its numbers."""
    left = list(given)
    if function == STATISTICS:
        # A structure with places for the answer, which only the reader can make.
        return ["device", ["counters", *left, MOST_PORT_COUNTERS, COUNTER_NAME]]
    found: list[Word] = []
    for word in FUNCTIONS[function].split():
        kind = word.lstrip("*+")
        if kind in _LONGEST and word != kind:
            found += [["out", f"{_LONGEST[kind]}s"], _LONGEST[kind]]
        elif function == "hlml_device_get_replaced_rows" and word == "*rows":
            # Without room for them they are counted.
            found.append(None)
        elif word != kind:
            found.append(["out", POINTED_TO[kind]])
        else:
            found.append("device" if word == "device" else left.pop(0))
    return found


def sharing(fields: Iterable[Field]) -> Mapping[str, tuple[Field, ...]]:
    """The name of each call -> the fields that it answers."""
    by_call: dict[tuple[str, tuple[int, ...]], list[Field]] = {}
    for field in fields:
        by_call.setdefault((field.function, field.given), []).append(field)
    return {ones[0].name: tuple(ones) for ones in by_call.values()}
