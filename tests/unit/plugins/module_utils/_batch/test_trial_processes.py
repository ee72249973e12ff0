# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import sys
import time

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch import trial_processes
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import Trial
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import of_all_ranks
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial_place import TrialPlace
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial_processes import (
    Ended,
    rank_variables,
    run_together,
    wait_together,
)


def test_one_process_is_told_nothing_and_several_what_torchrun_tells():
    assert rank_variables(1) == [{}]
    first, second = rank_variables(2)
    assert (first["RANK"], first["LOCAL_RANK"], second["RANK"], second["LOCAL_RANK"]) == ("0", "0", "1", "1")
    assert {one["WORLD_SIZE"] for one in (first, second)} == {one["LOCAL_WORLD_SIZE"] for one in (first, second)}
    assert first["MASTER_PORT"] == second["MASTER_PORT"] != "0"


def test_processes_are_waited_for_in_the_order_of_their_ends():
    answers = [[None, None, 3], [None, 0]]
    ended = wait_together([lambda: answers[0].pop(0), lambda: answers[1].pop(0)], 5, ["a", "b"])
    assert ended == [Ended(3, 1, "a"), Ended(0, 0, "b")]


def test_ranks_that_wait_for_one_that_has_ended_are_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(trial_processes, "RANKS_GRACE_S", 0.1)
    started = time.monotonic()
    assert wait_together([lambda: 1, lambda: None], 60, ["a", "b"]) == [Ended(1, 0, "a"), Ended(None, 2, "b")]
    assert time.monotonic() - started < 5


def test_all_are_ended_together(tmp_path, monkeypatch):
    monkeypatch.setattr(trial_processes, "RANKS_GRACE_S", 0.1)
    program = """
import os, time
rank = os.environ["RANK"]
open(rank, "w").write(str(os.getpid()))
time.sleep(60 * int(rank))
"""
    (tmp_path / "work").mkdir()
    ended = run_together([[sys.executable, "-c", program]] * 2, 20, TrialPlace(str(tmp_path), None), os.environ)
    assert [one.returncode for one in ended] == [0, None]
    pids = [int(path.read_text()) for path in (tmp_path / "work").glob("[01]")]
    assert pids
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


OK = Trial(8, "ok", 100, 0.5, "", 40, 1, 900, None, (0.5,), (1.0,), 3.0)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        ([OK], OK),
        (
            [OK, Trial(8, "ok", 120, 0.7, "", 30, 5, 800, 7, (0.7,), (2.0,), 4.0)],
            Trial(8, "ok", 120, 0.7, "", 30, 5, 800, 7, (0.7,), (2.0,), 4.0),
        ),
        (
            [OK, Trial(8, "ok", 90, 0.4, "", 50, 0, 1000, None, (0.4,), (2.0,), 4.0)],
            OK,
        ),
        (
            [Trial(8, "workload_error", message="closed by peer"), Trial(8, "out_of_memory", message="full")],
            Trial(8, "out_of_memory", message="rank 1: full"),
        ),
        (
            [Trial(8, "workload_error", message="first"), Trial(8, "crash", message="closed by peer")],
            Trial(8, "workload_error", message="rank 0: first"),
        ),
    ],
)
def test_the_worst_rank_counts(ranks, expected):
    assert of_all_ranks([(trial, Ended(0, order, "")) for order, trial in enumerate(ranks)]) == expected
