# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards import hpu_facts
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hlml import ask_hlml
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import Firmware, Hlml, Links, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, SPI, HlSmi, write_kernel
from ansible_collections.gaudi3.scale.tests.unit.sandbox.simulated_hlml import LOADED_SECONDS, SimulatedHlml, build_in


@pytest.fixture(scope="module")
def hlml_here(tmp_path_factory: pytest.TempPathFactory) -> SimulatedHlml:
    return build_in(tmp_path_factory.mktemp("hlml"))


def facts_with(hlml_here: SimulatedHlml, root: Path, monkeypatch: pytest.MonkeyPatch, **faults: object):
    """The facts of a node whose cards are those of the simulated library, and its first card as that has it."""
    shown = sorted(hlml_here.show(**faults), key=lambda one: one.card.module_id)
    addresses = [one.card.pci_address for one in shown]
    smi = HlSmi(addresses=addresses)

    def run(argv, *, timeout=None, env=None):
        return (smi if argv[0] == "hl-smi" else run_process)(argv, timeout=timeout, env=env)

    monkeypatch.setattr(hpu_facts, "ask_hlml", partial(ask_hlml, libraries=(hlml_here.path,), lock=""))
    return gather(run, str(write_kernel(root, addresses)), hlml=True), shown[0]


def test_hlml_tells_energy_throttling_rows_and_limits(hlml_here, tmp_path, monkeypatch):
    facts, shown = facts_with(hlml_here, tmp_path, monkeypatch, uncorrectable_ecc=[0], hot_card=[0])
    bad, good = facts.cards[0], facts.cards[1]
    assert facts.hlml == Hlml("1.24.1-482 (simulated)", "")
    assert bad.energy_mj == pytest.approx(shown.power * LOADED_SECONDS * 1000, rel=0.02)
    assert (bad.throttled_by, good.throttled_by) == (("thermal",), ())
    assert (bad.rows_replaced_single_bit, bad.rows_replaced_double_bit, bad.row_replacement_pending) == (0, 3, True)
    # Where hl-smi says "No" as well.
    assert (good.rows_replaced_double_bit, good.row_replacement_pending) == (0, False)
    assert (bad.power_limit_w, bad.power_limit_least_w, bad.power_limit_most_w) == (850, 450, 850)
    json.dumps(facts.as_dict())


def test_where_hlml_does_not_tell_all_else_is_as_it_was(hlml_here, tmp_path, monkeypatch):
    facts, _shown = facts_with(hlml_here, tmp_path, monkeypatch, hlml_lost_card=[0], hlml_crashes=[2])
    assert facts.hlml.reason.startswith("HLML crashed in hlml_device_get_pci_info of ")
    lost, other, crashed = facts.cards[:3]
    assert (lost.energy_mj, lost.throttled_by, lost.power_limit_w, crashed.energy_mj) == (None, None, None, None)
    assert {card.row_replacement_pending for card in facts.cards} == {False}
    assert {card.temperature_c for card in facts.cards} == {36}
    assert other.energy_mj is not None


def test_hlml_is_asked_only_where_somebody_wants_it(tmp_path, monkeypatch):
    def refuse(*_words, **_options):
        raise AssertionError

    monkeypatch.setattr(hpu_facts, "ask_hlml", refuse)
    assert gather(HlSmi(), str(write_kernel(tmp_path / "full"))).hlml == Hlml()
    # No driver has a card: there is nobody to ask.
    assert gather(HlSmi(), str(write_kernel(tmp_path / "bare", driver=False)), hlml=True).hlml == Hlml()


def test_before_the_driver_the_cards_are_there_and_the_rest_is_unknown(tmp_path):
    write_kernel(tmp_path, driver=False)
    hl_smi = HlSmi()
    facts = gather(hl_smi, str(tmp_path))
    assert (facts.generation, facts.count) == ("gaudi3", 8)
    assert [card.pci_address for card in facts.cards] == list(ADDRESSES)
    assert facts.cards[0].board == "HL-325L"
    assert {card.status for card in facts.cards} == {None}
    assert facts.driver.version is None
    assert facts.driver.modules == ()
    assert facts.firmware == Firmware((), None)
    assert facts.links.internal == Links(None, 0, ())
    assert hl_smi.calls == []


def test_with_the_driver_every_card_has_what_hl_smi_says_of_its_address(tmp_path):
    write_kernel(tmp_path)
    hot = {ADDRESSES[5]: {"temperature.aip": "71 C", "serial": "AO5"}}
    facts = gather(HlSmi(cells=hot), str(tmp_path))
    assert [card.module_id for card in facts.cards] == list(range(8))
    card = facts.cards[5]
    assert (card.pci_address, card.accel_index, card.temperature_c, card.serial) == (ADDRESSES[5], 2, 71, "AO5")
    assert (card.memory_total_mib, card.memory_used_mib, card.power_w) == (131072, 672, 226)
    assert (card.ecc_uncorrected, card.row_replacement_pending) == (0, False)
    assert card.firmware.spi == "1.22.0-fw-61.3.2-sec-3"


def test_versions_of_the_driver_and_of_the_tools(tmp_path):
    write_kernel(tmp_path)
    driver = gather(HlSmi(), str(tmp_path)).driver
    assert (driver.version, driver.release) == ("1.24.1-b336d5e", "1.24.1")
    assert (driver.nic_version, driver.hl_smi_version) == ("1.24.1-ead2cb0", "hl-1.24.0-fw-62.6.2.0")
    assert len(driver.modules) == 5


def test_links_are_split_by_the_ports_of_each_module(tmp_path):
    write_kernel(tmp_path)
    # Port 7 leads out of the node at module 5 and to another card at module 0.
    facts = gather(HlSmi(down={ADDRESSES[0]: [7], ADDRESSES[5]: [7]}), str(tmp_path))
    assert facts.links.internal == Links(167, 168, ("0000:19:00.0 port 7",))
    assert facts.links.external == Links(23, 24, ("0000:bb:00.0 port 7",))
    assert facts.cards[5].external_links == Links(2, 3, ("0000:bb:00.0 port 7",))


def test_ports_are_asked_for_by_number_and_again_without_where_that_is_not_understood(tmp_path):
    write_kernel(tmp_path, ADDRESSES[:1])

    class OldHlSmi(HlSmi):
        def __call__(self, argv, *, timeout=None, env=None):
            answer = super().__call__(argv, timeout=timeout, env=env)
            return CommandResult(1, "", "unknown argument") if argv[-1].startswith("0,") else answer

    hl_smi = OldHlSmi(ADDRESSES[:1])
    facts = gather(hl_smi, str(tmp_path))
    assert facts.links.internal.up == 21
    assert [call[-1] for call in hl_smi.calls if call[1] == "-n"] == [",".join(map(str, range(24))), "-P"]


def test_firmware_is_equal_only_where_every_card_has_the_same(tmp_path):
    write_kernel(tmp_path)
    other = SPI.replace("61.3.2", "61.0.2")
    same = gather(HlSmi(), str(tmp_path)).firmware
    mixed = gather(HlSmi(spi={ADDRESSES[3]: other}), str(tmp_path)).firmware
    assert same == Firmware(("1.22.0-fw-61.3.2-sec-3",), True)
    assert mixed == Firmware(("1.22.0-fw-61.3.2-sec-3", "1.22.0-fw-61.0.2-sec-3"), False)


def test_a_card_that_hl_smi_does_not_list_is_a_gap_and_never_a_shift(tmp_path):
    write_kernel(tmp_path)
    facts = gather(HlSmi(addresses=[one for one in ADDRESSES if one != ADDRESSES[2]]), str(tmp_path))
    assert facts.count == 8
    lost = facts.cards[2]
    assert (lost.pci_address, lost.temperature_c, lost.name) == (ADDRESSES[2], None, None)
    # The driver's own attributes still tell these two.
    assert (lost.status, lost.firmware.spi) == ("Operational", "1.22.0-fw-61.3.2-sec-3")
    assert facts.cards[3].temperature_c == 36


def test_without_hl_smi_the_kernel_s_own_attributes_are_left(tmp_path):
    write_kernel(tmp_path)
    hl_smi = HlSmi()
    facts = gather(hl_smi, str(tmp_path), hl_smi=False)
    assert hl_smi.calls == []
    assert (facts.driver.version, facts.cards[0].status) == ("1.24.1-b336d5e", "Operational")
    assert facts.links.internal == Links(None, 168, ())
    assert facts.cards[0].temperature_c is None


def test_an_hl_smi_that_is_not_installed_leaves_gaps(tmp_path):
    write_kernel(tmp_path)
    facts = gather(lambda argv, **_: CommandResult(127, "", "hl-smi: not installed"), str(tmp_path))
    assert facts.driver.hl_smi_version is None
    assert facts.links.internal.up is None


def test_generations_that_are_mixed_have_no_common_name(tmp_path):
    write_kernel(tmp_path, ADDRESSES[:4], driver=False)
    write_kernel(tmp_path, ADDRESSES[4:], pci_id="0x1020", driver=False)
    facts = gather(HlSmi(), str(tmp_path))
    assert facts.generation is None
    assert facts.generations == ("gaudi3", "gaudi2")


def test_the_keys_are_the_same_with_and_without_cards(tmp_path):
    empty = gather(HlSmi(), str(tmp_path / "empty")).as_dict()
    full = gather(HlSmi(), str(write_kernel(tmp_path / "full"))).as_dict()
    bare = gather(HlSmi(), str(write_kernel(tmp_path / "bare", driver=False))).as_dict()
    assert list(empty) == list(full) == list(bare)
    assert empty["cards"] == ()
    assert [set(card) for card in bare["cards"]] == [set(card) for card in full["cards"]]
    for section in ("driver", "firmware", "links", "kernel", "system"):
        assert set(empty[section]) == set(full[section])
    json.dumps(full)
