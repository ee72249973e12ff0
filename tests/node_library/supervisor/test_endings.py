# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Endings by the torch that is installed; those of tests/endings/recorded were printed by one that may be older."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gaudi3_scale.core._job.rank_logs import torchrun_failures
from gaudi3_scale.core._job.reported_failure import failure_sentence
from tests.endings.expected import EXPECTED
from tests.endings.record import run
from tests.unit.supervised import free_port

ALWAYS = ("own_retries_in_message",)
SOMETIMES = ("left_by_exit", "wrapped_echo", "big_message", "data_loader", "recorded_chain", "patience")

pytestmark = pytest.mark.skipif(
    not (Path(sys.executable).parent / "torchrun").exists(), reason="torch is not installed"
)


@pytest.mark.parametrize("name", [*ALWAYS, *(pytest.param(name, marks=pytest.mark.long) for name in SOMETIMES)])
def test_the_first_rank_and_its_reason(name, tmp_path):
    _ranks, rank, reason = EXPECTED[name]
    agent_log, attempt = run(name, tmp_path, free_port())
    first, *_others = torchrun_failures(agent_log, str(attempt))
    sentence = failure_sentence("node1", first.as_dict()).replace(" failed first:", "")
    assert sentence.startswith(f"rank {rank} on node1 {reason}")
