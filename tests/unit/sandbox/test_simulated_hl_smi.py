# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""hl-smi of the simulator against lines of the real tool, as public listings show them."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import datetime, timezone

import pytest

from sandbox.simulator.hl_smi import command, csv_query, listing, ports, power, table, topology
from sandbox.simulator.kernel_tree import render
from sandbox.simulator.node_state import Node, from_json, replace, to_json
from sandbox.simulator.readings import CardReading, readings, started

from . import simulated

NOW = datetime(2026, 11, 21, 9, 5, 7, tzinfo=timezone.utc)


def page(generation: str = "gaudi3", **faults: object) -> list[str]:
    """The lines of the table."""
    found = readings(simulated.loaded(generation, faults=faults))
    return table.page(found, "hl-1.24.0-fw-62.6.2.0", "1.24.1-b336d5e", "1.24.1-5151000").splitlines()


def query(fields: list[str], *, header: bool = True, units: bool = True, **faults: object) -> list[str]:
    """The lines of a csv query."""
    found = readings(simulated.loaded(faults=faults))
    return csv_query.page(found, fields, "1.24.1-b336d5e", None, NOW, header=header, units=units).splitlines()


def test_an_hl_smi_that_reads_nothing_tells_the_addresses() -> None:
    text = csv_query.page_of_nothing(readings(simulated.loaded()), ["name", "bus_id", "temperature.aip"], header=True)
    first, *lines = text.splitlines()
    assert first == "name, bus_id, temperature.aip [C]"
    assert len(lines) == 8 and all(line.startswith("N/A, 0000:") and line.endswith(", N/A") for line in lines)


def card(module_id: int, **faults: object) -> CardReading:
    """One card of a loaded node."""
    found = readings(simulated.loaded(faults=faults))
    return next(reading for reading in found if reading.card.module_id == module_id)


def test_every_line_of_the_table_has_the_width_of_the_frame() -> None:
    assert {len(line) for line in page()} == {79}
    assert {len(line) for line in page(busy_device=[3], hot_card=[2], uncorrectable_ecc=[0])} == {79}


def test_the_table_has_the_lines_of_a_real_gaudi_3() -> None:
    lines = page()
    assert lines[:8] == [
        "+-----------------------------------------------------------------------------+",
        "| HL-SMI Version:                              hl-1.24.0-fw-62.6.2.0          |",
        "| Driver Version:                                     1.24.1-b336d5e          |",
        "| Nic Driver Version:                                 1.24.1-5151000          |",
        "|-------------------------------+----------------------+----------------------+",
        "| AIP  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncor-Events|",
        "| Fan  Temp  Perf  Pwr:Usage/Cap|         Memory-Usage | AIP-Util  Compute M. |",
        "|===============================+======================+======================|",
    ]
    assert lines[8] == "|   0  HL-325L             N/A  | 0000:33:00.0     N/A |                   0  |"
    assert lines[9].startswith("| N/A ")
    assert lines[9].endswith("W /  850W  |   672MiB / 131072MiB |     0%            0% |")
    assert lines[-2] == "|   7        N/A   N/A    N/A                                      N/A        |"


def test_a_gaudi_2_shows_its_own_name_memory_and_power() -> None:
    lines = page("gaudi2")
    assert "HL-225 " in lines[8]
    assert lines[9].endswith("W /  600W  |    768MiB / 98304MiB |     0%            0% |")


def test_a_held_card_shows_its_process_and_memory() -> None:
    lines = page(busy_device=[1])
    assert "91136MiB / 131072MiB |   100%" in lines[9]
    assert "simulated-workload" in lines[-9]


def test_csv_has_units_in_header_and_values() -> None:
    fields = ["index", "name", "bus_id", "driver_version", "module_id", "memory.total", "memory.free", "memory.used"]
    header, first, *_others = query(fields)
    assert header == (
        "index, name, bus_id, driver_version, module_id, memory.total [MiB], memory.free [MiB], memory.used [MiB]"
    )
    assert first == "0, HL-325L, 0000:33:00.0, 1.24.1-b336d5e, 1, 131072 MiB, 130400 MiB, 672 MiB"


def test_csv_without_header_and_units() -> None:
    assert query(["module_id", "memory.total"], header=False, units=False)[0] == "1, 131072"


def test_csv_shows_the_injected_faults() -> None:
    fields = ["module_id", "temperature.aip", "ecc.errors.uncorrected.aggregate.total"]
    lines = query(fields, header=False, units=False, zero_temperature=[1], hot_card=[0], uncorrectable_ecc=[2])
    assert lines[0] == "1, 0, 0"
    assert lines[1] == "0, 98, 0"
    assert lines[2].endswith(", 3")


def test_every_field_has_a_value() -> None:
    fields = list(csv_query.FIELDS)
    header, *lines = query(fields)
    assert len(lines) == 8
    assert all(len(line.split(", ")) == len(header.split(", ")) for line in lines)


def test_the_listing_names_firmware_as_the_real_tool() -> None:
    found = readings(simulated.loaded(faults={"wrong_firmware": [4]}))
    lines = listing.page(found, 8, "1.24.1-b336d5e", "hl-1.24.0-fw-62.6.2.0", NOW, None).splitlines()
    spi = [line for line in lines if "[SPI]" in line]
    healthy = "        Firmware [SPI] Version          : Preboot version hl-gaudi3-1.22.0-fw-61.3.2-sec-3 ("
    assert sum(line.startswith(healthy) for line in spi) == 7
    assert spi[5].startswith(healthy.replace("1.22.0-fw-61.3.2-sec-3", "1.20.0-fw-58.0.0-sec-2"))
    assert "Attached AIPs                           : 8" in lines
    assert "[0] AIP (accel0) 0000:33:00.0" in lines
    assert "                Device Id               : 0x1da31060" in lines
    assert sum(" MAC " in line for line in lines) == 8 * 24


def test_links_are_internal_unless_all_are_asked_for() -> None:
    found = readings(simulated.loaded())
    assert sum(ports.links(reading, external=False).count("UP") for reading in found) == 168
    assert ports.links(found[0], external=False).splitlines()[0] == "port  0:\tUP"
    assert sum(ports.links(reading, external=True).count("DOWN") for reading in found) == 24


def test_external_links_are_up_after_the_ports_were_brought_up() -> None:
    found = readings(replace(simulated.loaded(), external_ports_up=True))
    assert sum(ports.links(reading, external=True).count("UP") for reading in found) == 192


def test_a_port_that_is_down_is_the_one_that_was_named() -> None:
    lines = ports.links(card(4, port_down=["4:6"]), external=False).splitlines()
    assert [line for line in lines if "DOWN" in line] == ["port  6:\tDOWN"]


@pytest.mark.parametrize(
    ("module_id", "external"), [(0, [17, 20, 21]), (1, [5, 8, 9]), (5, [2, 3, 7]), (7, [14, 15, 19])]
)
def test_port_kinds_follow_the_module_id(module_id: int, external: list[int]) -> None:
    lines = ports.kinds(card(module_id), external=False).splitlines()
    assert [number for number, line in enumerate(lines) if line == f"port {number}: external"] == external
    assert len(lines) == 24


def test_topology_has_a_line_per_module_with_processors_and_memory() -> None:
    head, rule, *lines = topology.page(readings(simulated.loaded()), 4, numa=True).splitlines()
    assert head.split() == ["modID", "CPU", "Affinity", "NUMA", "Affinity"]
    assert set(rule) == {"-", " "}
    assert [line.split() for line in lines[3:5]] == [["3", "0-1", "0"], ["4", "2-3", "1"]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-Q", "name,color", "-f", "csv"], 'Field "color" is not a valid field to query.'),
        (["-Q", "name", "-f", "xml"], "--query-aip needs --format=csv"),
        (["-n", "link"], "-n/--nic needs -i"),
        (["-L", "-i", "0000:ff:00.0"], "no AIP with the bus id 0000:ff:00.0"),
        (["-r", "-i", "0000:33:00.0"], "not simulated"),
        (["-p", "449"], "power limit 449 W is out of range (450 W to 850 W)"),
        (["-i", "0000:33:00.0", "-p", "851"], "power limit 851 W is out of range"),
        (["-i", "0000:ff:00.0", "-p", "600"], "no AIP with the bus id 0000:ff:00.0"),
    ],
)
def test_what_the_tool_refuses(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HABANALABS_PACKAGE", simulated.RELEASE)
    monkeypatch.setattr(command, "read", simulated.loaded)
    assert command.main(arguments) == 1
    assert said in capsys.readouterr().err


def test_without_the_driver_there_is_nothing_to_show(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HABANALABS_PACKAGE", simulated.RELEASE)
    monkeypatch.setattr(command, "read", simulated.virgin)
    assert command.main([]) == 1
    assert "not loaded" in capsys.readouterr().err


def limits_of(node: Node) -> dict[int, str]:
    """Module id -> the limit that power.max tells."""
    lines = csv_query.page(readings(node), ["module_id", "power.max"], "", None, NOW, header=False, units=True)
    return {int(module_id): limit for module_id, limit in (line.split(", ") for line in lines.splitlines())}


def test_a_power_limit_is_shown_wherever_one_looks() -> None:
    node = power.limited(simulated.loaded(), ["0000:4e:00.0"], 600)
    assert limits_of(node) == {**dict.fromkeys(range(8), "850 W"), 3: "600 W"}
    lines = table.page(readings(node), "hl", "1.24.1", None).splitlines()
    assert ["600W" in line for line in lines if "MiB / " in line] == [number == 3 for number in range(8)]
    (reading,) = (one for one in readings(node) if one.card.module_id == 3)
    assert next(line.split()[-2:] for line in listing.power(reading) if "Power Limit" in line) == ["600", "W"]
    shown = render(node, simulated.MACHINE)
    assert shown[f"sys/class/accel/accel{reading.index}/device/max_power"] == "600000\n"


def test_a_power_limit_stays_with_the_running_node_alone() -> None:
    node = power.limited(simulated.loaded(), ["0000:4e:00.0"], 600)
    assert limits_of(from_json(to_json(node)))[3] == "600 W"
    assert limits_of(started(node)) == limits_of(started(node, power_cycled=True)) == dict.fromkeys(range(8), "850 W")


def test_a_card_with_the_fault_keeps_its_limit() -> None:
    node = simulated.loaded(faults={"power_limit_ignored": [3]})
    limited = power.limited(node, [card.pci_address for card in node.cards], 600)
    assert limits_of(limited) == {**dict.fromkeys(range(8), "600 W"), 3: "850 W"}


def test_the_tool_sets_the_card_that_it_is_given_or_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = [simulated.loaded()]
    monkeypatch.setenv("HABANALABS_PACKAGE", simulated.RELEASE)
    for module in (command, power):
        monkeypatch.setattr(module, "read", lambda: kept[-1])
    monkeypatch.setattr(power, "write", kept.append)
    monkeypatch.setattr(power, "refresh", lambda node: None)
    monkeypatch.setattr(power, "locked", nullcontext)
    assert command.main(["-i", "0000:4e:00.0", "-p", "600"]) == 0
    assert limits_of(kept[-1]) == {**dict.fromkeys(range(8), "850 W"), 3: "600 W"}
    assert command.main(["--power-max", "700"]) == 0
    assert limits_of(kept[-1]) == dict.fromkeys(range(8), "700 W")
    assert "0000:4e:00.0: power limit set to 600 W" in capsys.readouterr().out
