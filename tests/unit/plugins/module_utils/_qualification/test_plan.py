# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which tests a node runs by level, board and the operator's word, and what is left out with its reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import GENERATIONS
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import HpuFacts, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._qualification.matrix import LEVELS, MATRIX
from ansible_collections.gaudi3.scale.plugins.module_utils._qualification.plan import Options, plan
from ansible_collections.gaudi3.scale.plugins.module_utils._qualification.results import ACTIONS
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import ADDRESSES, HlSmi, write_kernel

GAUDI2, OAM, PCIE = "0x1020", "0x1060", "0x1063"


@pytest.fixture
def planned(tmp_path_factory: pytest.TempPathFactory):
    """The plan of a node with these cards."""

    def made(level: str = "full", pci_id: str = OAM, **options: Any) -> dict[str, Any]:
        facts = gather(HlSmi(), str(write_kernel(tmp_path_factory.mktemp("node"), pci_id=pci_id)))
        return plan(Options(level, "1.24.1", 8, "hpu", "/venv", **options), facts)

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
    assert "power" in names(planned(leave_out={"power": False}))
    assert "power" in names(planned(pci_id=PCIE))


def test_a_gaudi_2_runs_hbm_tests_only_with_another_driver(planned: Any) -> None:
    assert "hbm-dma" in names(planned(pci_id=OAM))
    assert "timeout_locked=0" in planned(pci_id=GAUDI2)["left_out"]["hbm-dma"]
    assert "hbm-dma" in names(planned(pci_id=GAUDI2, reload_driver=True))
    # Asking for the test does not load another driver.
    assert "hbm-dma" not in names(planned(pci_id=GAUDI2, leave_out={"hbm-dma": False}))


def test_the_operator_leaves_out_with_a_reason(planned: Any) -> None:
    found = planned("quick", leave_out={"functional": "the power supply is being mended", "pcie": True})
    assert names(found) == ["host", "serdes-errors", "memory-bandwidth"]
    assert found["left_out"]["functional"] == "the power supply is being mended"


def test_two_plans_are_the_same_where_nothing_is_another(planned: Any) -> None:
    assert planned()["key"] == planned()["key"]
    assert len({planned(level)["key"] for level in LEVELS}) == 3


def test_a_test_that_nobody_knows_is_refused(planned: Any) -> None:
    with pytest.raises(GaudiError, match="leave_out names funktional, which is no test; there are pcie,"):
        planned(leave_out={"funktional": "x"})


def test_cards_of_two_generations_are_refused(tmp_path: Path) -> None:
    write_kernel(tmp_path, ADDRESSES[:4])
    write_kernel(tmp_path, ADDRESSES[4:], pci_id=GAUDI2, driver=False)
    with pytest.raises(GaudiError, match="cards of gaudi3 and gaudi2, and no test and no job is for both"):
        plan(Options("quick", "1.24.1", 8, "hpu", "/venv"), gather(HlSmi(), str(tmp_path)))


def test_a_node_without_cards_is_looked_at_and_no_more(tmp_path: Path) -> None:
    facts: HpuFacts = gather(HlSmi(()), str(write_kernel(tmp_path, (), driver=False)))
    assert names(plan(Options("quick", "1.24.1", 8, "hpu", "/venv"), facts)) == ["host"]


@pytest.mark.parametrize("test", MATRIX, ids=lambda test: test.name)
def test_each_row_of_the_matrix_can_be_meant(test: Any) -> None:
    boards = {board.label for generation in GENERATIONS for board in generation.boards}
    assert test.calls.keys() <= {*LEVELS} and "burn_in" in test.calls
    assert {*test.exceptions} <= boards and all(test.exceptions.values())
    assert {*test.needs_unlocked} <= {generation.name for generation in GENERATIONS}
    assert test.action in ACTIONS
    assert all(0 < call.seconds <= 86400 and call.words[0] == "-rmod" for call in test.calls.values())
