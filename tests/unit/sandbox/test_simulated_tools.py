# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Faults on the command line, hl_qual, manage_network_ifs.sh and lspci of the simulator."""

from __future__ import annotations

import pytest

from sandbox.simulator import faults, hl_qual, lspci, network_interfaces
from sandbox.simulator.node_state import replace
from sandbox.simulator.readings import readings

from . import simulated


@pytest.mark.parametrize(
    ("words", "parsed"),
    [
        (["no_cards"], {"no_cards": True}),
        (["dkms_build_error=true"], {"dkms_build_error": True}),
        (["missing_card=3"], {"missing_card": [3]}),
        (["hot_card=1,2", "no_cards"], {"hot_card": [1, 2], "no_cards": True}),
        (["port_down=0:4,7:23"], {"port_down": ["0:4", "7:23"]}),
    ],
)
def test_faults_are_parsed(words: list[str], parsed: dict[str, object]) -> None:
    assert faults.parse(words) == parsed


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("broken_card=1", "unknown fault 'broken_card'"),
        ("missing_card=three", "missing_card=three: it takes MODULE_ID"),
        ("missing_card=", "it takes MODULE_ID"),
        ("port_down=3", "it takes MODULE_ID:PORT"),
        ("port_down=3:24", "it takes MODULE_ID:PORT"),
        ("no_cards=7", "no_cards=7: it takes true"),
    ],
)
def test_faults_that_make_no_sense_are_refused(word: str, said: str) -> None:
    with pytest.raises(faults.FaultError, match=said):
        faults.parse([word])


def test_qualification_passes_on_healthy_cards() -> None:
    text, passed = hl_qual.report(readings(simulated.loaded()), ["functional"], {})
    assert passed
    assert text.splitlines()[-1] == "PASSED"
    assert "simulated" in text


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({"zero_temperature": [2]}, "temperature 0 C"),
        ({"hot_card": [2]}, "temperature 98 C"),
        ({"uncorrectable_ecc": [2]}, "3 uncorrectable ECC errors"),
        ({"port_down": ["2:0"]}, "internal ports down: [0]"),
        ({"busy_device": [2]}, "device acquire failed"),
        ({"not_operational": [2]}, "status Disabled"),
        ({"computes_wrongly": [2]}, "mismatch"),
    ],
)
def test_qualification_fails_on_a_faulty_card(fault: dict[str, object], said: str) -> None:
    text, passed = hl_qual.report(readings(simulated.loaded(faults=fault)), ["functional"], fault)
    assert not passed
    assert text.splitlines()[-1] == "FAILED"
    assert [line for line in text.splitlines() if said in line and "module 2" in line]


def test_a_temperature_that_none_can_have_is_no_fault_of_a_card_and_four_are_a_group() -> None:
    found = readings(simulated.loaded(faults={"absurd_temperature": [2]}))
    assert {one.temperature for one in found if one.card.module_id == 2} == {505_712_272}
    assert hl_qual.report(found, ["functional"], {})[1]
    groups = [sorted(one.card.module_id for one in found if f"quad_{group}" in hl_qual.names(one)) for group in (0, 1)]
    assert groups == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_port_status_has_the_script_s_two_lines_a_card() -> None:
    down = network_interfaces.status(readings(simulated.loaded())).splitlines()
    assert down[:2] == ["accel0", "0 ports up ()"]
    up = network_interfaces.status(readings(replace(simulated.loaded(), external_ports_up=True))).splitlines()
    assert up[:2] == ["accel0", "3 ports up (5, 8, 9)"]
    assert len(up) == 16


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [(["-d", "1da3:"], 8), (["-d", "1da3:1060:1200"], 8), (["-d", "1da3:1020"], 0), ([], 9), (["-d", "::0600"], 1)],
)
def test_lspci_selects_devices(
    arguments: list[str], lines: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lspci, "read", simulated.virgin)
    assert lspci.main(arguments) == 0
    assert len(capsys.readouterr().out.splitlines()) == lines


def test_lspci_with_numbers_has_lspci_s_form(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(lspci, "read", simulated.virgin)
    lspci.main(["-n", "-D", "-d", "1da3:"])
    assert capsys.readouterr().out.splitlines()[0] == "0000:33:00.0 1200: 1da3:1060 (rev 01)"
