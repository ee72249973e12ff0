# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The cards of a trial beside jobs and other trials, by real locks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial_cards import cards_for
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._job.cards_in_use import Asker, node_cards
from ansible_collections.gaudi3.scale.plugins.module_utils._job.paths import JobPaths
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import write_kernel

VISIBLE = "HABANA_VISIBLE_MODULES"


@pytest.fixture
def root(tmp_path: Path) -> str:
    return str(write_kernel(tmp_path / "kernel"))


@pytest.fixture
def state(tmp_path: Path) -> str:
    """A node on which job a has modules 0 to 3."""
    started = Path(JobPaths("a", str(tmp_path / "state")).started)
    started.parent.mkdir(parents=True)
    started.write_text(json.dumps({"modules": [0, 1, 2, 3]}), encoding="utf-8")
    return str(tmp_path / "state")


def units(argv: Any, **_more: Any) -> CommandResult:
    return CommandResult(0, "Id=gaudi3-scale-job-a.service\nActiveState=active\n", "")


def hpu(processes: int, device: str = "hpu") -> Workload:
    return Workload("m:f", device=device, processes=processes)


def test_a_trial_takes_what_is_free_and_keeps_it_while_it_runs(root: str, state: str) -> None:
    with cards_for(hpu(2), {}, state, units, root) as first:
        assert first == {VISIBLE: "4,5"}
        with cards_for(hpu(2), {}, state, units, root) as second:
            assert second == {VISIBLE: "6,7"}
            said = node_cards(Asker("n1", "b", state_directory=state), units, root).taken
            assert said[4] == "held by a trial of a probe or comparison"
        with cards_for(hpu(1), {VISIBLE: "7"}, state, units, root) as named:
            assert named == {}
    assert sorted(node_cards(Asker("n1", "b", state_directory=state), units, root).taken) == [0, 1, 2, 3]


def test_one_that_is_cut_off_keeps_nothing(root: str, state: str) -> None:
    with pytest.raises(KeyboardInterrupt), cards_for(hpu(4), {}, state, units, root):
        raise KeyboardInterrupt
    assert sorted(node_cards(Asker("n1", "b", state_directory=state), units, root).taken) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("processes", "visible", "said"),
    [
        (
            5,
            "",
            r"processes is 5, and 4 of 8 cards are free on .*: modules 0 to 3 are held by job a; ask for 4 at most",
        ),
        (8, "", "modules 0 to 3 are held by job a"),
        (1, "2", "processes is 1 and module 2 is held by job a"),
        (1, "9", f"processes is 1, and {VISIBLE}=9 names '9'; .* has modules 0 to 7: name one of them for each rank"),
        (2, "4", f"processes is 2, and {VISIBLE}=4 names 1 module"),
    ],
)
def test_what_others_have_is_refused_with_their_name(
    processes: int, visible: str, said: str, root: str, state: str
) -> None:
    environment = {VISIBLE: visible} if visible else {}
    with pytest.raises(GaudiError, match=said), cards_for(hpu(processes), environment, state, units, root):
        pass


def test_without_cards_nothing_is_kept(root: str, tmp_path: Path) -> None:
    for device, kernel in (("cpu", root), ("hpu", str(tmp_path / "other"))):
        with cards_for(hpu(8, device), {}, str(tmp_path / "none"), units, kernel) as added:
            assert added == {}
    assert not (tmp_path / "none").exists()


def test_a_whole_node_is_taken_as_before(root: str, tmp_path: Path) -> None:
    with cards_for(hpu(8), {}, str(tmp_path / "free"), lambda *_a, **_m: CommandResult(127, "", ""), root) as added:
        assert added == {}
