# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A node that falls ill takes itself out of a Slurm that answers as Slurm does, and not when too many have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

import pytest
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import HlSmi, write_kernel

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._node.commands import CommandResult
from gaudi3_scale.core._qualify.files import Files
from gaudi3_scale.core._upgrade.drain.ownership import our_reason
from gaudi3_scale.verify.checks import problems
from gaudi3_scale.verify.service import give_back, take_out


class Slurm:
    """Nodes and the reasons for which they are out of service."""

    def __init__(self, count: int, **reasons: str) -> None:
        self.reasons = {f"n{number}": "none" for number in range(count)} | reasons

    def __call__(self, argv: Sequence[str], **_more: Any) -> CommandResult:
        words = [str(word) for word in argv]
        program = next(word for word in words if word in ("sinfo", "scontrol", "squeue"))
        if program == "sinfo":
            return CommandResult(0, "".join(f"{name}|{reason}\n" for name, reason in self.reasons.items()), "")
        if "update" in words:
            node = next(word for word in words if word.startswith("NodeName=")).partition("=")[2]
            reason = [word.partition("=")[2] for word in words if word.startswith("Reason=")]
            self.reasons[node] = reason[0] if reason else "none"
        if "show" in words:
            node = words[-1]
            reason = self.reasons[node]
            state = "IDLE" if reason == "none" else f"IDLE+DRAIN Reason={reason} [root@2026-11-25T12:00:00]"
            return CommandResult(0, f"NodeName={node} State={state}\n", "")
        return CommandResult(0, "", "")


def test_a_healthy_node_that_works_has_no_problem(tmp_path: Path) -> None:
    busy = HlSmi(cells={"0000:19:00.0": {"memory.used": "130000 MiB", "utilization.aip": "99 %"}})
    kernel = str(write_kernel(tmp_path / "kernel"))
    assert problems("1.24.1", 8, busy, kernel, Files(str(tmp_path))) == []


def test_a_hot_card_and_a_failed_qualification_are_told(tmp_path: Path) -> None:
    files = Files(str(tmp_path))
    files.write(
        files.verdict, {"state": "unhealthy", "time": "2026-11-25T03:00:00Z", "reasons": ["functional: mismatch."]}
    )
    hot = HlSmi(cells={"0000:19:00.0": {"temperature.aip": "97 C"}})
    found = problems("1.24.1", 8, hot, str(write_kernel(tmp_path / "kernel")), files)
    assert [sentence.partition(":")[0] for sentence in found] == ["temperature", "the qualification of 2026-11-25T03"]
    files.write(files.verdict, {"state": "inconclusive", "reasons": ["x"]})
    assert len(problems("1.24.1", 8, hot, str(tmp_path / "kernel"), files)) == 1


def test_what_nobody_could_tell_takes_no_node_out(tmp_path: Path) -> None:
    kernel, files = str(write_kernel(tmp_path / "kernel")), Files(str(tmp_path))
    unknown = HlSmi(cells={"0000:19:00.0": {"temperature.aip": "505712272 C"}})
    with pytest.raises(GaudiError, match=r"It is unknown whether this node is healthy: temperature: found unknown"):
        problems("1.24.1", 8, unknown, kernel, files)
    files.write(files.verdict, {"state": "unhealthy", "reasons": ["functional: mismatch."]})
    assert len(problems("1.24.1", 8, unknown, kernel, files)) == 1


def test_an_ill_node_takes_itself_out_once_and_comes_back_where_it_is_allowed() -> None:
    slurm = Slurm(20)
    assert take_out("n3", "card gone", 0.1, slurm) == "n3 is out of service now."
    assert slurm.reasons["n3"] == our_reason("n3", "health check: card gone")
    assert take_out("n3", "card gone", 0.1, slurm) == "n3 is out of service already."
    assert give_back("n3", slurm) == "n3 is in service again."
    assert give_back("n3", slurm) == ""


def test_when_a_tenth_is_out_the_next_one_stays_and_says_so() -> None:
    slurm = Slurm(20)
    take_out("n1", "x", 0.1, slurm)
    take_out("n2", "x", 0.1, slurm)
    assert "n3 is NOT taken out of service: 2 of 20 nodes are already, and 2 may be" in take_out("n3", "x", 0.1, slurm)
    assert slurm.reasons["n3"] == "none"
    assert take_out("n0", "x", 0.1, Slurm(2)) == "n0 is out of service now."


@pytest.mark.parametrize("reason", ["a person's", our_reason("n1", "driver 1.24.1")])
def test_what_somebody_else_has_drained_stays_so(reason: str) -> None:
    slurm = Slurm(20, n1=reason)
    take_out("n1", "card gone", 0.1, slurm)
    assert slurm.reasons["n1"] == reason
    assert give_back("n1", slurm) == ""
    assert slurm.reasons["n1"] == reason


def test_a_slurm_that_does_not_answer_takes_nobody_out() -> None:
    with pytest.raises(GaudiError, match="sinfo cannot be queried: slurm_load_node error"):
        take_out("n1", "x", 0.1, lambda _argv, **_more: CommandResult(1, "", "slurm_load_node error"))
