# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Trials as forks of one real process that has imported PyTorch, and as several real ranks."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from gaudi3_scale.batch.trial_forks import Trials
from gaudi3_scale.core._batch.trial import Workload, run_trial

MIB = 1 << 20
MINE = """
import os, signal, threading, time
import torch
from gaudi3_scale.ranks import join, ranks_from

def step_of(batch_size, device, file=""):
    if batch_size == 13: os.kill(os.getpid(), signal.SIGSEGV)
    if batch_size == 14: os.kill(os.getppid(), signal.SIGKILL)
    if batch_size == 15: time.sleep(60)
    weight = torch.ones(batch_size << 18, requires_grad=True)
    def step():
        weight.sum().backward()
        return os.getppid()
    return step

def ranks(batch_size, device, fails=False):
    mine = ranks_from(os.environ)
    join(mine, device)
    kept = torch.zeros((batch_size + 8 * mine.rank) << 18)
    if fails and mine.rank == 1:
        raise MemoryError("of rank 1")
    def step():
        one = torch.ones(1)
        torch.distributed.all_reduce(one)
        return one
    return step
"""
THREADS = "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"


@pytest.fixture
def workload(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "threads.py").write_text(THREADS + MINE)

    def make(function, processes=1, memory_limit=None, **options):
        return Workload(function, options, device="cpu", processes=processes, memory_limit=memory_limit)

    return make


@pytest.fixture
def how(tmp_path):
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return {"python": sys.executable, "timeout": 60.0, "environment": environment}


@pytest.mark.in_turn
def test_whatever_a_fork_does_the_next_one_runs(workload, how):
    with Trials(workload("mine:step_of", memory_limit=64 * MIB), **{**how, "timeout": 60.0}) as attempt:
        first, dead, second, large = attempt(2), attempt(13), attempt(3), attempt(100)
        assert (first.outcome, dead.outcome, second.outcome, large.outcome) == ("ok", "crash", "ok", "out_of_memory")
        assert "SIGSEGV" in dead.message
        assert 1 * MIB < second.peak_memory_bytes - first.peak_memory_bytes < 3 * MIB
        # Their parent, which each step returns as its loss, is one and the same process.
        parent = first.losses[0]
        assert set(first.losses + second.losses) == {parent}
        os.kill(int(parent), signal.SIGKILL)
        again, later = attempt(2), attempt(2)
        assert (again.outcome, later.outcome) == ("ok", "ok")
        assert parent not in again.losses + later.losses
        restarted = int(later.losses[0])
    assert not Path(f"/proc/{restarted}").exists()


@pytest.mark.in_turn
def test_past_its_time_a_fork_is_ended(workload, how):
    with Trials(workload("mine:step_of"), **{**how, "timeout": 5.0}) as attempt:
        hung, after = attempt(15), attempt(2)
    assert (hung.outcome, after.outcome) == ("hang", "ok")


@pytest.mark.long
def test_a_module_that_starts_threads_gets_fresh_processes(workload, how):
    with Trials(workload("threads:step_of"), **how) as attempt:
        trial = attempt(2)
    assert trial.outcome == "ok"
    assert set(trial.losses) == {os.getpid()}


@pytest.mark.long
def test_of_several_ranks_the_worst_counts(workload, how):
    alone = run_trial(workload("mine:step_of"), 2, **how)
    both = run_trial(workload("mine:ranks", processes=2), 2, **how)
    assert both.outcome == "ok", both.message
    assert set(both.losses) == {2.0}
    assert both.peak_memory_bytes > alone.peak_memory_bytes + 6 * MIB


def test_a_rank_that_runs_out_of_memory_is_named_and_ends_the_others(workload, how):
    with Trials(workload("mine:ranks", processes=2, fails=True), **how) as attempt:
        trial = attempt(2)
    assert (trial.outcome, trial.message) == ("out_of_memory", "rank 1: MemoryError: of rank 1")
