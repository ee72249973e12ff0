# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Programs that had not ended in their time: nothing of what they would have said stands against the node."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import gather
from ansible_collections.gaudi3.scale.plugins.module_utils._node.check import Check, failed
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, run_process
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.counters import grown
from ansible_collections.gaudi3.scale.plugins.module_utils._releases.lookup import find_release
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.measurement import TrainingEnvironment, measure
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.patience import Patience
from ansible_collections.gaudi3.scale.plugins.module_utils._verify.verdict import Limits, verdict
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import HlSmi, write_kernel

LIMITS = Limits(cards=8, device="hpu", temperature_c=None, idle_memory_mib=1024, firmware=None, external_links=False)


class Slow:
    """A healthy node on which the programs ``late`` do not end in time; others answer as hl-smi and torch do."""

    def __init__(self, *late: str) -> None:
        self.late, self.smi = late, HlSmi()

    def __call__(
        self, argv: Sequence[str], *, timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> CommandResult:
        name = Path(argv[0]).name
        if name in self.late and timeout is not None:
            return CommandResult(124, "", f"{argv[0]}: timed out after {timeout} s")
        if name == "python":
            return CommandResult(0, '\n{"version": "2.11.0", "devices": 8}', "")
        return self.smi(argv, timeout=timeout, env=env)


def problems(root: Path, *late: str, cards: int = 8, status: str | None = None) -> dict[str, Check]:
    write_kernel(root)
    if status:
        next(root.glob("sys/class/accel/accel3/device/status")).write_text(f"{status}\n")
    training = TrainingEnvironment("/venv", "hpu", str(root / "flags"))
    measured = measure(Slow(*late), str(root), training, str(root / "etc"))
    limits = Limits(**{**LIMITS.__dict__, "cards": cards})
    return {check.name: check for check in failed(verdict(measured, find_release("1.24.1"), limits))}


def test_a_healthy_node_that_answers_has_no_problem(tmp_path: Path) -> None:
    assert problems(tmp_path) == {}


def test_an_hl_smi_that_had_not_ended_is_one_sentence_and_no_fault_of_a_card(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, "hl-smi").values()
    assert found.unknown
    assert found.sentence.startswith(
        "hl-smi: it had not finished after 90 s, so it is unknown: the state of the cards; run this again;"
    )


def test_a_torch_that_is_imported_from_slow_storage_is_not_missing(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, "python").values()
    assert (found.name, found.unknown) == ("torch", True)
    assert "had not finished after 300 s" in found.sentence
    assert "the read speed of the training venv's storage" in found.sentence


def test_what_the_kernel_knows_stands_against_the_node_all_the_same(tmp_path: Path) -> None:
    found = problems(tmp_path, "hl-smi", "python", cards=9, status="in device creation")
    assert {name for name, check in found.items() if not check.unknown} == {"cards", "card status"}
    assert {name for name, check in found.items() if check.unknown} == {"hl-smi", "torch"}


def test_counters_that_were_not_told_afterwards_have_not_grown(tmp_path: Path) -> None:
    write_kernel(tmp_path)
    before, after = gather(HlSmi(), str(tmp_path)), gather(Slow("hl-smi"), str(tmp_path))
    assert grown(before, after) == []


@pytest.mark.parametrize(("argv", "late"), [(["sleep", "5"], {"sleep": 0.2}), (["true"], {}), (["false"], {})])
def test_a_real_program_is_late_where_it_was_ended_and_not_where_it_failed(
    argv: list[str], late: dict[str, float]
) -> None:
    patient, begun = Patience(run_process), time.monotonic()
    patient(argv, timeout=0.2)
    assert patient.late == late
    assert time.monotonic() - begun < 4
