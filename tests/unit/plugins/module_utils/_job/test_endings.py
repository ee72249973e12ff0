# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What torchrun and its ranks really printed as they ended (tests/endings): the rank that is named first, and why."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._job.rank_logs import torchrun_failures
from ansible_collections.gaudi3.scale.plugins.module_utils._job.reported_failure import failure_sentence

from tests.endings.expected import EXPECTED

ENDINGS = Path(__file__).parents[4] / "endings"
PART = re.compile(r"^=== (?P<name>\S+)$\n", re.MULTILINE)
REPEATED = re.compile(r"\{\{(.)\*(\d+)\}\}")


def ended(name, place):
    """The agent's output and the directory of the ranks' logs, as they were."""
    header, *parts = PART.split((ENDINGS / f"recorded/{name}.txt").read_text(encoding="utf-8"))
    assert header.startswith("# ")
    said = {part: text.removesuffix("\n") for part, text in zip(parts[::2], parts[1::2])}
    for local in range(EXPECTED[name][0]):
        (place / str(local)).mkdir()
        for log in ("stderr.log", "stdout.log"):
            (place / f"{local}/{log}").touch()
    for part, text in said.items():
        if part != "agent.log":
            (place / part).write_text(REPEATED.sub(lambda run: run[1] * int(run[2]), text), encoding="utf-8")
    return said["agent.log"], place


@pytest.mark.parametrize("name", EXPECTED)
def test_the_first_rank_and_its_reason(name, tmp_path):
    _ranks, rank, reason = EXPECTED[name]
    agent_log, attempt = ended(name, tmp_path)
    first, *_others = torchrun_failures(agent_log, str(attempt))
    sentence = failure_sentence("node1", first.as_dict())
    assert sentence.replace(" failed first:", "").startswith(f"rank {rank} on node1 {reason}")
    assert max(map(len, sentence.splitlines())) < 700
    # The exception is among the lines that are shown below.
    assert not first.exception or any(first.exception in line for line in first.lines)
    assert len(first.lines) <= 15


def test_there_are_forty():
    assert len(EXPECTED) >= 40
    assert {path.stem for path in (ENDINGS / "recorded").glob("*.txt")} == set(EXPECTED)
