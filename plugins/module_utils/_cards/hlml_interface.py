# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""The binary interface of HLML, the vendor's library below ``hl-smi``, as data.

Facts taken from the vendor's own Python wrapper (habana-pyhlml on PyPI, MIT), which is the same in each release line of
``LINES``; a test holds every size, offset and number against it (tests/unit/fixtures/hlml). Meanings and units: HLML C
API Reference on docs.habana.ai. None of this was run on a card.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import NamedTuple

# The wrapper's path, and that of a RHEL-like node (NordicHPC/sonar); on a merged /usr both are one file.
LIBRARIES = ("/usr/lib/habanalabs/libhlml.so", "/lib/habanalabs/libhlml.so")
# Release lines whose wrappers were compared. Headers before them have other structures (``pci_info`` without the
# fastest link), so that a library of another line is not asked.
LINES = ("1.21", "1.22", "1.23", "1.24")


class Structure(NamedTuple):
    """``format`` is one of Python's ``struct`` with native alignment; ``fields`` name its values in their order."""

    format: str
    fields: tuple[str, ...]

    @property
    def size(self) -> int:
        """Bytes, as C counts them: the end is filled up to the alignment of the widest field."""
        letters = "B" + "".join(letter for letter in self.format if letter.isalpha() and letter != "s")
        return struct.calcsize(f"@{self.format}0{max(letters, key=struct.calcsize)}")


STRUCTURES: Mapping[str, Structure] = {
    "pci_info": Structure(
        "I19sIII10s10s10s10sII",
        (
            *("bus", "bus_id", "device", "domain", "pci_device_id"),
            *("caps.link_speed", "caps.link_width", "caps.link_max_speed", "caps.link_max_width"),
            *("pci_rev", "pci_subsys_id"),
        ),
    ),
    "utilization": Structure("II", ("aip", "memory")),
    "process_utilization": Structure("I", ("aip_util",)),
    "memory": Structure("QQQ", ("free", "total", "used")),
    "pcb_info": Structure("32s32s", ("pcb_ver", "pcb_assembly_ver")),
    "event_data": Structure("PQ", ("device", "event_type")),
    "mac_info": Structure("6si", ("addr", "id")),
    "nic_stats_info": Structure("IPPP", ("port", "str_buf", "val_buf", "num_of_counters_out")),
    "violation_time": Structure("QQ", ("reference_time", "violation_time")),
    "row_address": Structure("BBBBH", ("hbm_idx", "pc", "sid", "bank_idx", "row_addr")),
}

# Enumerations, without those of their numbers that only count.
CLOCKS = {"soc": 0, "ic": 1, "mme": 2, "tpc": 3}
SENSORS = {"aip": 0, "board": 1, "other": 2, "hbm": 3, "vrm": 4, "ctemp": 5}
THRESHOLDS = {"shutdown": 0, "slowdown": 1, "mem_max": 2, "gpu_max": 3}
ERRORS = {"corrected": 0, "uncorrected": 1}
# Since the driver was loaded, and ever.
COUNTERS = {"volatile": 0, "aggregate": 1}
LOCATIONS = {"sram": 0, "dram": 1, "all": 2}
CAUSES = {"multiple_single_bit_ecc_errors": 0, "double_bit_ecc_error": 1}
POLICIES = {"power": 0, "thermal": 1}
DIRECTIONS = {"tx": 0, "rx": 1}
SCOPES = {"node": 0, "socket": 1}
# Masks.
THROTTLING = {"power": 1, "thermal": 2}
EVENTS = {"ecc_derr": 1, "critical_err": 2, "clock_rate": 4, "dram_derr": 8, "ecc_serr": 16, "dram_serr": 32}

MOST_REPLACED_ROWS = 32
MOST_MAC_ADDRESSES = 48
MOST_PORT_COUNTERS = 256
# Bytes of a counter's name.
COUNTER_NAME = 32

SUCCESS = 0
# Of a wait for events: its time was over, or there was none.
NO_EVENT = (10, 21)
LOST = 15
# What each other code of a call means, in words that end a sentence: "its power is not known: HLML says that ...".
CODES: Mapping[int, str] = {
    1: "it was not initialized",
    2: "an argument is not valid",
    3: "this is not supported",
    5: "it was initialized already",
    6: "there is no such thing",
    7: "the room for the answer is too small",
    9: "the driver is not loaded",
    10: "the card did not answer in time",
    LOST: "the card is lost",
    20: "it has no memory",
    21: "there is no data",
    49: "it failed for a reason that it does not know",
}

# Function -> its parameters. ``*`` is a pointer to what the function fills; ``+`` one to what it reads and fills;
# ``*text32`` a buffer and, as the next parameter, its length. All return a code.
FUNCTIONS: Mapping[str, str] = {
    "hlml_init": "",
    "hlml_init_with_flags": "u32",
    "hlml_shutdown": "",
    "hlml_get_hlml_version": "*text128",
    "hlml_get_driver_version": "*text128",
    "hlml_get_nic_driver_version": "*text128",
    "hlml_device_get_count": "*u32",
    "hlml_device_get_handle_by_index": "u32 *handle",
    "hlml_device_get_handle_by_pci_bus_id": "text *handle",
    "hlml_device_get_handle_by_UUID": "text *handle",
    "hlml_device_get_name": "device *text32",
    "hlml_device_get_serial": "device *text32",
    "hlml_device_get_uuid": "device *text128",
    "hlml_get_model_number": "device *text32",
    "hlml_get_firmware_fit_version": "device *text128",
    "hlml_get_firmware_spi_version": "device *text128",
    "hlml_get_fw_boot_version": "device *text128",
    "hlml_get_fw_os_version": "device *text128",
    "hlml_get_cpld_version": "device *text128",
    "hlml_device_get_oper_status": "device *text30",
    "hlml_device_get_pci_info": "device *pci_info",
    "hlml_device_get_pcb_info": "device *pcb_info",
    "hlml_device_get_hl_revision": "device *i32",
    "hlml_device_get_module_id": "device *u32",
    "hlml_device_get_board_id": "device *u32",
    "hlml_device_get_minor_number": "device *u32",
    "hlml_device_get_clock_info": "device u32 *u32",
    "hlml_device_get_max_clock_info": "device u32 *u32",
    "hlml_device_get_clock_limit_info": "device u32 *u32",
    "hlml_device_get_current_clocks_throttle_reasons": "device *u64",
    "hlml_device_get_violation_status": "device u32 *violation_time",
    "hlml_device_get_temperature": "device u32 *u32",
    "hlml_device_get_temperature_threshold": "device u32 *u32",
    "hlml_device_get_power_usage": "device *u32",
    "hlml_device_get_power_management_mode": "device *u32",
    "hlml_device_get_power_management_limit": "device *u32",
    "hlml_device_get_power_management_default_limit": "device *u32",
    "hlml_device_get_power_management_limit_constraints": "device *u32 *u32",
    "hlml_device_set_power_management_limit": "device u32",
    "hlml_device_get_total_energy_consumption": "device *u64",
    "hlml_device_get_utilization_rates": "device *utilization",
    "hlml_device_get_process_utilization": "device *process_utilization",
    "hlml_device_get_memory_info": "device *memory",
    "hlml_device_get_ecc_mode": "device *u32 *u32",
    "hlml_device_get_total_ecc_errors": "device u32 u32 *i64",
    "hlml_device_get_memory_error_counter": "device u32 u32 u32 *i64",
    # The last one may be NULL: then the rows are counted only.
    "hlml_device_get_replaced_rows": "device u32 +u32 *rows",
    "hlml_device_get_replaced_rows_pending_status": "device *u32",
    "hlml_device_get_persistence_mode": "device *u32",
    "hlml_device_get_performance_state": "device *u32",
    "hlml_device_get_supported_performance_states": "device *states u32",
    "hlml_device_get_pcie_throughput": "device u32 *u32",
    "hlml_device_get_pcie_replay_counter": "device *u32",
    "hlml_device_get_curr_pcie_link_generation": "device *u32",
    "hlml_device_get_curr_pcie_link_width": "device *u32",
    "hlml_get_mac_addr_info": "device *masks *masks",
    "hlml_device_get_mac_info": "device *mac_infos u32 u32 *i32",
    "hlml_nic_get_link": "device u32 *bool",
    "hlml_nic_get_statistics": "device +nic_stats_info",
    "hlml_device_get_cpu_affinity": "device u32 *set",
    "hlml_device_get_cpu_affinity_within_scope": "device u32 *set u32",
    "hlml_device_get_memory_affinity": "device u32 *set u32",
    "hlml_device_set_cpu_affinity": "device",
    "hlml_device_clear_cpu_affinity": "device",
    "hlml_event_set_create": "*handle",
    "hlml_event_set_free": "handle",
    "hlml_device_register_events": "device u64 handle",
    "hlml_event_set_wait": "handle *event_data u32",
}

# What a parameter points to -> its format.
POINTED_TO: Mapping[str, str] = {
    **{name: structure.format for name, structure in STRUCTURES.items()},
    "u32": "I",
    "u64": "Q",
    "i32": "i",
    "i64": "q",
    "bool": "?",
    "handle": "P",
    "masks": "QQ",
    "rows": STRUCTURES["row_address"].format * MOST_REPLACED_ROWS,
}
