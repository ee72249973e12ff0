# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Metrics of cards: every one that is on the bus, and of what is not known nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import external_ports
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml import ask_hlml
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter import card_readings
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.card_families import card_families
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.card_readings import read_cards
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.exposition import text_of
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.tests.unit.sandbox.simulated_hlml import build_in
from prometheus_client.parser import text_string_to_metric_families

from tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

Values = dict[str, dict[str, float]]


def metrics(root: Path, smi: HlSmi) -> Values:
    """Metric -> slot of the card, or "" -> value."""
    readings, _answered = read_cards(smi, str(root), 10)
    found: Values = {}
    for family in text_string_to_metric_families(text_of(card_families(readings, {}, 8))):
        for sample in family.samples:
            found.setdefault(sample.name, {})[sample.labels.get("card", "")] = sample.value
    return found


def silent(argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None) -> CommandResult:
    return CommandResult(124, "", "no end")


def test_each_card_is_known_by_its_module_whatever_its_device_is_called(tmp_path: Path) -> None:
    root = write_kernel(tmp_path)
    cells = {ADDRESSES[3]: {"temperature.aip": "71 C", "power.draw": "812.5 W", "utilization.aip": "98 %"}}
    found = metrics(root, HlSmi(cells=cells))
    assert found["gaudi_card_temperature_celsius"] == {**{str(slot): 36.0 for slot in range(8)}, "3": 71.0}
    assert found["gaudi_card_power_watts"]["3"] == 812.5
    assert found["gaudi_card_utilization_ratio"]["3"] == 0.98
    assert found["gaudi_card_memory_bytes"]["0"] == 131072 * (1 << 20)
    assert found["gaudi_cards_present"] == found["gaudi_cards_driven"] == found["gaudi_cards_expected"] == {"": 8.0}
    assert found["gaudi_card_operational"] == {str(slot): 1.0 for slot in range(8)}


def test_it_is_one_question_to_the_tool(tmp_path: Path) -> None:
    smi = HlSmi()
    metrics(write_kernel(tmp_path), smi)
    assert len(smi.calls) == 1


def test_a_card_that_the_tool_does_not_show_has_no_zeros(tmp_path: Path) -> None:
    found = metrics(write_kernel(tmp_path), HlSmi(addresses=ADDRESSES[1:]))
    assert "0" not in found["gaudi_card_temperature_celsius"]
    assert found["gaudi_cards_present"] == {"": 8.0}


def test_a_value_that_is_not_available_is_none(tmp_path: Path) -> None:
    found = metrics(
        write_kernel(tmp_path), HlSmi(cells={ADDRESSES[0]: {"power.draw": "N/A", "temperature.aip": "hot"}})
    )
    assert "0" not in found["gaudi_card_power_watts"]
    assert "0" not in found["gaudi_card_temperature_celsius"]


def test_a_tool_that_does_not_answer_is_told(tmp_path: Path) -> None:
    readings, answered = read_cards(silent, str(write_kernel(tmp_path)), 10)
    assert not answered
    assert [reading.status for reading in readings] == ["Operational"] * 8


def test_without_a_driver_nobody_is_asked_and_the_bus_tells_the_number(tmp_path: Path) -> None:
    smi = HlSmi()
    found = metrics(write_kernel(tmp_path, ADDRESSES[:7], driver=False), smi)
    assert smi.calls == []
    assert (found["gaudi_cards_present"], found["gaudi_cards_driven"]) == ({"": 7.0}, {"": 0.0})


def test_what_the_driver_tells_in_files_needs_no_tool(tmp_path: Path) -> None:
    root = write_kernel(tmp_path)
    card = root / "sys/bus/pci/devices" / ADDRESSES[2]
    for name, text in {
        "clk_cur_freq_mhz": "1000",
        "clk_max_freq_mhz": "1650",
        "max_power": "850000",
        "hard_reset_cnt": "2",
    }.items():
        (card / name).write_text(text)
    found = metrics(root, HlSmi())
    assert (found["gaudi_card_clock_hertz"], found["gaudi_card_clock_max_hertz"]) == ({"2": 1e9}, {"2": 1.65e9})
    assert (found["gaudi_card_power_limit_watts"], found["gaudi_card_resets_total"]) == ({"2": 850.0}, {"2": 2.0})


def test_hlml_adds_what_the_tool_does_not_tell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build_in(tmp_path)
    shown = sorted(
        library.show(hot_card=[1], uncorrectable_ecc=[2], hlml_lost_card=[3]), key=lambda one: one.card.module_id
    )
    smi = HlSmi(addresses=[one.card.pci_address for one in shown])

    class Both(HlSmi):
        def __call__(
            self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
        ) -> CommandResult:
            return (smi if argv[0] == "hl-smi" else run_process)(argv, timeout=timeout, env=env)

    monkeypatch.setattr(card_readings, "ask_hlml", partial(ask_hlml, libraries=(library.path,), lock=""))
    root = write_kernel(tmp_path / "kernel", smi.addresses)
    readings, answered = read_cards(Both(), str(root), 10)
    assert answered
    assert [one.throttled_by for one in readings] == [(), ("thermal",), (), None, (), (), (), ()]
    assert [one.rows_double_bit for one in readings] == [0, 0, 3, None, 0, 0, 0, 0]
    assert [one.energy_mj is None for one in readings] == [one.slot == "3" for one in readings]
    text = text_of(card_families(readings, {}, 8))
    for line in (
        'gaudi_card_throttled{card="1",reason="thermal"} 1',
        'gaudi_card_throttled{card="1",reason="power"} 0',
        'gaudi_card_throttle_counter_total{card="1",reason="thermal"} 1000000',
        'gaudi_card_replaced_rows_total{card="2",cause="double_bit"} 3',
        'gaudi_card_row_replacement_pending{card="2"} 1',
        'gaudi_card_power_limit_least_watts{card="0"} 450',
        'gaudi_card_power_limit_most_watts{card="0"} 850',
    ):
        assert f"{line}\n" in text
    assert 'gaudi_card_throttled{card="3"' not in text
    assert "gaudi_port_counter_total{" not in text


def test_what_external_ports_count_is_there_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = build_in(tmp_path)
    shown = sorted(library.show(hlml_lost_card=[3]), key=lambda one: one.card.module_id)
    smi = HlSmi(addresses=[one.card.pci_address for one in shown])

    def run(
        argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        return (smi if argv[0] == "hl-smi" else run_process)(argv, timeout=timeout, env=env)

    monkeypatch.setattr(card_readings, "ask_hlml", partial(ask_hlml, libraries=(library.path,), lock=""))
    root = write_kernel(tmp_path / "kernel", smi.addresses)
    readings, _answered = read_cards(run, str(root), 10, port_counters=True)
    ports = {one.slot: set(one.port_counters) for one in readings}
    assert ports == {
        one.slot: set() if one.slot == "3" else set(external_ports("0x1060", int(one.slot))) for one in readings
    }
    text = text_of(card_families(readings, {}, 8))
    for name in ("spmu_req_out_of_range_psn", "eth_rx_fcs_errors", "pcs_link_toggles"):
        port = min(ports["0"])
        assert f'gaudi_port_counter_total{{card="0",port="{port}",counter="{name}"}} 0\n' in text
    # All else is there as well.
    assert readings[0].energy_mj is not None
