# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The simulated libhlml.so, read by the vendor's own wrapper and by us: both say what the simulated cards are like."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml import HlmlCard, ask_hlml
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import run_process

from sandbox.repository import hlml_library, packages
from sandbox.simulator import hlml_state
from sandbox.simulator.faults import FAULTS
from sandbox.simulator.numa import processors
from sandbox.simulator.readings import CardReading
from sandbox.simulator.releases import RELEASES

from . import simulated
from .simulated_hlml import CPUS, LOADED_SECONDS, SimulatedHlml, build_in

OUTSIDER = Path(__file__).with_name("hlml_outsider.py")
MODULE = 1
# A card of which the most is to be told.
FAULTY = {"uncorrectable_ecc": [MODULE], "hot_card": [MODULE], "port_down": [f"{MODULE}:5"], "busy_device": [MODULE]}
# Our name of a field -> the wrapper's call, and what it takes of the answer.
SAME: dict[str, tuple[str, str | int | None]] = {
    "pci_address": ("hlmlDeviceGetPCIInfo", "bus_id"),
    "serial": ("hlmlDeviceGetSerial", None),
    "uuid": ("hlmlDeviceGetUUID", None),
    "name": ("hlmlDeviceGetName", None),
    "module_id": ("hlmlDeviceGetModuleID", None),
    "index": ("hlmlDeviceGetMinorNumber", None),
    "status": ("hlmlDeviceGetOperationStatus", None),
    "firmware_spi": ("hlmlDeviceGetFirmwareSPIVersion", None),
    "firmware_os": ("hlmlDeviceGetFWOSVersion", None),
    "cpld": ("hlmlDeviceGetCPLDVersion", None),
    "power": ("hlmlDeviceGetPowerUsage", None),
    "power_limit": ("hlmlDeviceGetPowerManagementLimit", None),
    "power_default_limit": ("hlmlDeviceGetPowerManagementDefaultLimit", None),
    "power_least_limit": ("hlmlDeviceGetPowerManagementLimitConstraints", 0),
    "power_most_limit": ("hlmlDeviceGetPowerManagementLimitConstraints", 1),
    "throttle_reasons": ("hlmlDeviceGetCurrentClocksThrottleReasons", None),
    "throttled_by_power": ("hlmlDeviceGetViolationStatus 0", "violation_time"),
    "throttled_by_thermal": ("hlmlDeviceGetViolationStatus 1", "violation_time"),
    "clock_soc": ("hlmlDeviceGetClockInfo 0", None),
    "clock_mme": ("hlmlDeviceGetClockInfo 2", None),
    "clock_tpc": ("hlmlDeviceGetClockInfo 3", None),
    "clock_max_soc": ("hlmlDeviceGetMaxClockInfo 0", None),
    "clock_max_mme": ("hlmlDeviceGetMaxClockInfo 2", None),
    "clock_max_tpc": ("hlmlDeviceGetMaxClockInfo 3", None),
    "memory_free": ("hlmlDeviceGetMemoryInfo", "free"),
    "memory_total": ("hlmlDeviceGetMemoryInfo", "total"),
    "memory_used": ("hlmlDeviceGetMemoryInfo", "used"),
    "utilization": ("hlmlDeviceGetUtilizationRates", "aip"),
    "ecc_corrected_volatile": ("hlmlDeviceGetTotalECCErrors 0 0", None),
    "ecc_corrected_aggregate": ("hlmlDeviceGetTotalECCErrors 0 1", None),
    "ecc_uncorrected_volatile": ("hlmlDeviceGetTotalECCErrors 1 0", None),
    "ecc_uncorrected_aggregate": ("hlmlDeviceGetTotalECCErrors 1 1", None),
    "rows_replaced_single": ("hlmlDeviceGetReplacedRowsCount 0", None),
    "rows_replaced_double": ("hlmlDeviceGetReplacedRowsCount 1", None),
    "rows_pending": ("hlmlDeviceGetReplacedRowsPendingStatus", None),
    "pcie_replays": ("hlmlDeviceGetPCIEReplayCounter", None),
    "celsius_aip": ("hlmlDeviceGetTemperature 0", None),
    "celsius_board": ("hlmlDeviceGetTemperature 1", None),
    "celsius_hbm": ("hlmlDeviceGetTemperature 3", None),
}


@pytest.fixture(scope="module")
def hlml_here(tmp_path_factory: pytest.TempPathFactory) -> SimulatedHlml:
    return build_in(tmp_path_factory.mktemp("hlml"))


@pytest.fixture(scope="module")
def told(hlml_here: SimulatedHlml) -> tuple[CardReading, dict[str, Any], HlmlCard]:
    """One card: as the simulation has it, as the wrapper says it, and as we do."""
    shown = hlml_here.show(**FAULTY)
    card = next(one for one in shown if one.card.module_id == MODULE)
    address = card.card.pci_address
    ours = ask_hlml(run_process, (address,), libraries=(hlml_here.path,), lock="")
    program = (sys.executable, str(OUTSIDER), hlml_here.path, address, card.card.uuid)
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert ours.reason == ""
    return card, json.loads(done.stdout), ours.card(address)


def test_each_function_of_the_wrapper_answers(told: tuple[CardReading, dict[str, Any], HlmlCard]) -> None:
    _card, said, _ours = told
    called = {name.split()[0] for name in said}
    assert set(said["functions"]) - called == set()
    failed = {name: value for name, value in said.items() if isinstance(value, dict) and "error" in value}
    # Before it was initialized, and a wait that ended without an event.
    assert failed == {"hlmlDeviceGetCount before": {"error": 1}, "hlmlEventSetWait nothing": {"error": 10}}


def test_each_value_is_ours(told: tuple[CardReading, dict[str, Any], HlmlCard]) -> None:
    _card, said, ours = told
    energy = ours.answers["energy"].value
    assert set(SAME) | {"energy"} == set(ours.answers)
    for name, (call, part) in SAME.items():
        assert ours.answers[name].value == (said[call] if part is None else said[call][part]), name
    # It grows meanwhile.
    assert isinstance(energy, int) and energy <= said["hlmlDeviceGetTotalEnergyConsumption"] <= energy * 1.05


def test_each_value_is_the_simulated_card_s(told: tuple[CardReading, dict[str, Any], HlmlCard]) -> None:
    card, said, _ours = told
    board = card.board
    assert said["hlmlDeviceGetCount"] == 8
    assert said["hlmlGetDriverVersion"] == RELEASES[simulated.RELEASE].driver
    assert said["hlmlGetNicDriverVersion"] == RELEASES[simulated.RELEASE].nic_driver
    assert said["same"][0] == card.card.pci_address == said["same"][1 + card.index]
    assert said["hlmlDeviceGetSerial"] == card.card.serial
    assert said["hlmlDeviceGetName"] == board.name
    assert said["hlmlDeviceGetModelNumber"] == board.model_number
    assert said["hlmlDeviceGetTemperature 0"] == card.temperature
    assert said["hlmlDeviceGetPowerUsage"] == card.power * 1000
    assert said["hlmlDeviceGetMemoryInfo"]["used"] == card.used_mib << 20
    assert said["hlmlDeviceGetUtilizationRates"] == {"aip": 100, "memory": 69}
    assert said["hlmlDeviceGetProcessUtilization"] == {"aip_util": 100}
    assert said["hlmlDeviceGetCurrPCIELinkGeneration"] == board.link_generation
    assert said["hlmlDeviceGetPCIInfo"]["caps"] == {
        "link_speed": "32GT/s",
        "link_width": "x16",
        "link_max_speed": "32GT/s",
        "link_max_width": "x16",
    }
    assert said["hlmlDeviceGetPCIInfo"]["pci_device_id"] == 0x10601DA3
    assert said["hlmlDeviceGetPCBInfo"] == {"pcb_ver": "R01", "pcb_assembly_ver": "V0P"}
    energy = card.power * LOADED_SECONDS * 1000
    assert energy <= said["hlmlDeviceGetTotalEnergyConsumption"] <= energy * 1.05


def test_ports_are_told_by_number(told: tuple[CardReading, dict[str, Any], HlmlCard]) -> None:
    card, said, _ours = told
    every, outside = said["hlmlDeviceGetMacAddrInfo"]
    assert (every, outside[0]) == ([(1 << 24) - 1, 0], sum(1 << port for port in card.board.external(MODULE)))
    assert {port for port in range(24) if said[f"hlmlDeviceNicGetLink {port}"]} == set(card.ports_up)
    macs = [":".join(f"{byte:02x}" for byte in one["addr"]) for one in said["hlmlDeviceGetMACInfo 24 0"]]
    assert tuple(macs) == card.macs
    assert said["counters"] == {"spmu_req_out_of_range_psn": 0, "eth_rx_fcs_errors": 0, "pcs_link_toggles": 0}


def test_rows_that_were_replaced_are_listed(told: tuple[CardReading, dict[str, Any], HlmlCard]) -> None:
    rows = told[1]["hlmlDeviceGetReplacedRows 1 8"]
    assert [row["row_addr"] for row in rows] == [1000, 1001, 1002, 0, 0, 0, 0, 0]


def test_a_memory_error_is_an_event(told: tuple[CardReading, dict[str, Any], HlmlCard]) -> None:
    assert told[1]["hlmlEventSetWait"]["event_type"] == 8
    assert told[1]["event of the card"] is True


def test_a_limit_is_set_by_hl_smi(told: tuple[CardReading, dict[str, Any], HlmlCard], hlml_here: SimulatedHlml) -> None:
    card, said, _ours = told
    assert said["hlmlDeviceSetPowerManagementLimit 600000"] is None
    called = (hlml_here.root / "hl-smi.calls").read_text(encoding="utf-8")
    assert called == f"-i {card.card.pci_address} -p 600\n"


def test_processors_are_those_of_the_card_s_node(told: tuple[CardReading, dict[str, Any], HlmlCard]) -> None:
    card, said, _ours = told
    mask = sum(1 << cpu for cpu in processors(card.card.numa_node, CPUS))
    assert said["hlmlDeviceGetCpuAffinity 2"] == said["hlmlDeviceGetCpuAffinityWithinScope 2 0"] == [mask, 0]
    assert said["hlmlDeviceGetMemoryAffinity 2 0"] == [1 << card.card.numa_node, 0]
    assert said["processors cleared"] is True


def test_it_says_that_it_is_a_simulation(hlml_here: SimulatedHlml) -> None:
    hlml_here.show()
    said = ctypes.c_char * 60
    text = said.in_dll(ctypes.CDLL(hlml_here.path), "gaudi3_scale_simulation").value
    assert text.startswith(b"Simulated by the sandbox of gaudi3.scale")


@pytest.mark.parametrize("version", RELEASES)
def test_each_release_s_package_has_its_own(version: str) -> None:
    packaged = packages.firmware_tools(RELEASES[version]).files["/usr/lib/habanalabs/libhlml.so"]
    assert packaged.data.startswith(b"\x7fELF")
    assert f"{version} (simulated)".encode() in packaged.data
    assert b"/var/lib/gaudi_simulator/hlml" in packaged.data
    assert packages.NOTICE.strip().encode() in packaged.data


def test_a_source_that_does_not_compile_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken.c").write_text("int hlml_init(void) { return nothing; }", encoding="utf-8")
    monkeypatch.setattr(hlml_library, "SOURCE", tmp_path / "broken.c")
    with pytest.raises(Exception, match="nothing"):
        hlml_library.build(tmp_path / "libhlml.so", "1.24.1-482")


def test_the_text_has_no_card_without_the_driver() -> None:
    assert hlml_state.text(simulated.virgin(), CPUS) == ""


def test_each_fault_of_it_is_told_to_the_library() -> None:
    names = {*hlml_state.OF_CARD, *hlml_state.OF_NODE}
    assert names == {name for name in FAULTS if name.startswith("hlml_")}
    faults = {name: [MODULE] if name in hlml_state.OF_CARD else True for name in names}
    text = hlml_state.text(simulated.loaded(faults=faults), CPUS)
    keys = [*hlml_state.OF_CARD.values(), *hlml_state.OF_NODE.values()]
    assert [text.count(f"\n{key} 1\n") + text.startswith(f"{key} 1\n") for key in keys] == [1] * len(keys)


@pytest.mark.parametrize("cpus", [1, 2, 64, 65, 130])
def test_processors_are_words_of_64(cpus: int) -> None:
    for card in (one for one in hlml_state.text(simulated.loaded(), cpus).split("card ")[1:]):
        lines = dict(line.partition(" ")[::2] for line in card.splitlines())
        words = [int(word, 16) for word in lines["cpu_mask"].split()]
        found = {64 * place + bit for place, word in enumerate(words) for bit in range(64) if word >> bit & 1}
        assert found == set(processors(int(lines["numa_node"]), cpus))
