# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which tests a node runs by level, board and the operator's word, and what is left out with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import GENERATIONS
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import HpuFacts, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.environment import DOCUMENTED
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.matrix import LEVELS, MATRIX
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.plan import Options, plan
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.results import ACTIONS
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

GAUDI2, OAM, PCIE, HL288E = "0x1020", "0x1060", "0x1063", "0x1021"
# What the vendor's pages, dell/omnia and the manual of HL-288E want timeout_locked=0 for, on any Gaudi 2.
UNLOCKED = ["serdes-errors", "power", "edp", "hbm-dma", "hbm-tpc"]


@pytest.fixture
def planned(tmp_path_factory: pytest.TempPathFactory):
    """The plan of a node with these cards."""

    def made(
        level: str = "full",
        pci_id: str = OAM,
        locked: int | None = None,
        release: str = "1.24.1",
        addresses: Sequence[str] = ADDRESSES,
        **options: Any,
    ) -> dict[str, Any]:
        root = write_kernel(tmp_path_factory.mktemp("node"), addresses, pci_id=pci_id)
        if locked is not None:
            (root / "sys/module/habanalabs/parameters").mkdir(parents=True)
            (root / "sys/module/habanalabs/parameters/timeout_locked").write_text(f"{locked}\n")
        facts = gather(HlSmi(addresses), str(root))
        return plan(Options(level, release, 8, "hpu", "/venv", **options), facts)

    return made


def names(found: dict[str, Any]) -> list[str]:
    return [test["test"] for test in found["tests"]]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        ("quick", ["host", "pcie", "serdes-errors", "memory-bandwidth", "functional"]),
        (
            "full",
            ["host", "pcie", "pcie-bandwidth", "serdes-errors", "memory-bandwidth", "nic-pairs", "nic-all-reduce"],
        ),
    ],
)
def test_a_level_has_its_tests_and_pcie_comes_first(level: str, expected: list[str], planned: Any) -> None:
    assert names(planned(level))[: len(expected)] == expected


def test_quick_takes_less_than_five_minutes_of_a_node() -> None:
    assert sum(test.calls["quick"].seconds for test in MATRIX if "quick" in test.calls) < 300


def test_the_words_are_those_of_the_vendor_s_program(planned: Any) -> None:
    functional = next(test for test in planned("quick")["tests"] if test["test"] == "functional")
    said = " ".join(functional["words"])
    assert said == "-gaudi3 -c all -dis_mon -rmod parallel -f2 -l extreme -t 60"
    assert functional["seconds"] > 60


def test_what_fails_on_healthy_boards_is_left_out_with_the_reason_until_it_is_asked_for(planned: Any) -> None:
    assert "power" not in names(planned())
    assert "intel/gaudi-reference-cloud" in planned()["left_out"]["power"]
    assert "power" in names(planned(excluded={"power": False}))
    assert "power" in names(planned(pci_id=PCIE))


def test_a_gaudi_2_runs_hbm_tests_only_with_another_driver(planned: Any) -> None:
    assert "hbm-dma" in names(planned(pci_id=OAM))
    assert "timeout_locked=0" in planned(pci_id=GAUDI2)["left_out"]["hbm-dma"]
    assert "hbm-dma" in names(planned(pci_id=GAUDI2, reload_driver=True))
    # Asking for the test does not load another driver.
    assert "hbm-dma" not in names(planned(pci_id=GAUDI2, excluded={"hbm-dma": False}))


def test_a_gaudi_2_runs_what_wants_another_driver_with_it_or_not_at_all(planned: Any) -> None:
    plain = planned(pci_id=GAUDI2, locked=30)
    assert [name for name in names(plain) if name in UNLOCKED] == []
    assert set(plain["left_out"]) == set(UNLOCKED)
    for name in UNLOCKED:
        said = plain["left_out"][name]
        assert "timeout_locked=0, and this one has 30" in said, name
    assert set(UNLOCKED) <= set(names(planned(pci_id=GAUDI2, locked=30, reload_driver=True)))
    # A Gaudi 3 wants none of it.
    assert {"serdes-errors", "hbm-dma", "hbm-tpc"} <= set(names(planned(locked=30)))
    assert "hbm-data" in planned("burn_in", GAUDI2)["left_out"]


def test_a_site_whose_driver_is_loaded_so_at_boot_leaves_nothing_out(planned: Any) -> None:
    found = planned(pci_id=GAUDI2, locked=0)
    assert found["left_out"] == {} and set(UNLOCKED) <= set(names(found))
    # Nothing has to be loaded anew, so the order stays that of the vendor.
    assert names(found) == ["host", *(test.name for test in MATRIX if "full" in test.calls)]


def test_what_wants_another_driver_comes_last_where_it_is_loaded_for_that(planned: Any) -> None:
    found = planned(pci_id=GAUDI2, locked=30, reload_driver=True)
    assert names(found)[:4] == ["host", "pcie", "pcie-bandwidth", "memory-bandwidth"]
    assert all(test["driver"] for test in found["tests"][4:])


def test_what_one_source_wants_so_and_another_does_not_runs_and_says_so(planned: Any) -> None:
    wants = {test["test"]: test["driver"] for test in planned(pci_id=GAUDI2, locked=30)["tests"][1:]}
    assert wants["functional"] == wants["nic-pairs"] == wants["nic-all-reduce"] == "rather_unlocked"
    assert wants["pcie"] == wants["memory-bandwidth"] == ""


def test_the_manual_of_hl_288e_wants_it_for_all_but_bandwidth(planned: Any) -> None:
    plain = planned(pci_id=HL288E, locked=30)
    assert names(plain) == ["host", "pcie", "pcie-bandwidth", "memory-bandwidth"]
    assert plain["left_out"]["functional"].startswith("on HL-288E it needs a driver that is loaded with")


@pytest.mark.parametrize("pci_id", [HL288E, PCIE])
def test_what_joins_cards_runs_once_for_each_four_that_a_board_joins(pci_id: str, planned: Any) -> None:
    found = planned(pci_id=pci_id, locked=0)
    said = {test["test"]: test["words"][1:3] for test in found["tests"][1:]}
    for test in ("nic-pairs", "nic-all-reduce", "functional"):
        assert said[f"{test}-quad_0"] == ["-c", "quad_0"]
        assert said[f"{test}-quad_1"] == ["-c", "quad_1"]
        assert test not in said
    assert said["pcie"] == said["memory-bandwidth"] == ["-c", "all"]


def test_a_node_with_one_group_has_one_and_a_broken_group_is_none(planned: Any) -> None:
    four = names(planned(pci_id=HL288E, locked=0, addresses=ADDRESSES[:4]))
    assert "functional-quad_0" in four and "functional-quad_1" not in four
    assert [name for name in names(planned(pci_id=HL288E, locked=0, addresses=ADDRESSES[:7])) if "quad_1" in name] == []
    two = planned(pci_id=HL288E, locked=0, addresses=ADDRESSES[:2])
    assert "no four are whole here" in two["left_out"]["functional"]


def test_a_release_of_which_the_groups_are_not_known_leaves_them_out(planned: Any) -> None:
    found = planned(pci_id=HL288E, locked=0, release="1.22.1")
    assert "known of release 1.23.0 on, and this is 1.22.1" in found["left_out"]["functional"]
    assert "functional" not in planned(pci_id=GAUDI2, locked=0, release="1.22.1")["left_out"]


def test_gaudi_3_has_no_sram_to_be_measured(planned: Any) -> None:
    words = next(test["words"] for test in planned()["tests"] if test["test"] == "pcie-bandwidth")
    assert " ".join(words) == "-gaudi3 -c all -dis_mon -rmod serial -mb -b -pciOnly"


def test_the_operator_leaves_out_with_a_reason(planned: Any) -> None:
    found = planned("quick", excluded={"functional": "the power supply is being mended", "pcie": True})
    assert names(found) == ["host", "serdes-errors", "memory-bandwidth"]
    assert found["left_out"]["functional"] == "the power supply is being mended"


def test_two_plans_are_the_same_where_nothing_is_another(planned: Any) -> None:
    assert planned()["key"] == planned()["key"]
    assert len({planned(level)["key"] for level in LEVELS}) == 3


def test_a_test_that_nobody_knows_is_refused(planned: Any) -> None:
    with pytest.raises(GaudiError, match="excluded names funktional, which is not a test; valid names are pcie,"):
        planned(excluded={"funktional": "x"})


def test_cards_of_two_generations_are_refused(tmp_path: Path) -> None:
    write_kernel(tmp_path, ADDRESSES[:4])
    write_kernel(tmp_path, ADDRESSES[4:], pci_id=GAUDI2, driver=False)
    with pytest.raises(GaudiError, match="cards of gaudi3 and gaudi2, and no test and no job can use both"):
        plan(Options("quick", "1.24.1", 8, "hpu", "/venv"), gather(HlSmi(), str(tmp_path)))


def test_a_node_without_cards_is_looked_at_and_no_more(tmp_path: Path) -> None:
    facts: HpuFacts = gather(HlSmi(()), str(write_kernel(tmp_path, (), driver=False)))
    assert names(plan(Options("quick", "1.24.1", 8, "hpu", "/venv"), facts)) == ["host"]


@pytest.mark.parametrize("test", MATRIX, ids=lambda test: test.name)
def test_each_row_of_the_matrix_can_be_meant(test: Any) -> None:
    boards = {board.label for generation in GENERATIONS for board in generation.boards}
    assert test.calls.keys() <= {*LEVELS} and "burn_in" in test.calls
    assert {*test.exceptions} <= boards and all(test.exceptions.values())
    generations = {generation.name for generation in GENERATIONS}
    assert {*test.needs_unlocked, *test.unlocked_by_some} <= generations
    assert {*test.unlocked_boards} <= boards and {*test.since} <= boards | generations
    assert {*test.environment} <= {*DOCUMENTED}
    assert test.action in ACTIONS
    assert all(0 < call.seconds <= 86400 and call.words[0] == "-rmod" for call in test.calls.values())
