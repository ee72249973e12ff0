# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is worked out without a device, held against what a process really takes."""

from __future__ import annotations

import os
import sys

import pytest
import torch

from gaudi3_scale.batch.trial_forks import Trials
from gaudi3_scale.core._batch.estimate import UNCERTAINTY, estimate
from gaudi3_scale.core._batch.trial import Workload
from gaudi3_scale.estimate.live_tensors import LiveTensors
from gaudi3_scale.estimate.workload import estimate as estimate_of
from gaudi3_scale.estimate.workload import peak_bytes

MODEL = {"layers": 2, "width": 64, "heads": 4, "sequence_length": 64, "precision": "fp32"}
BUILT_IN = "gaudi3_scale.workloads:causal_language_model"
MIB = 1 << 20


@pytest.fixture
def how(tmp_path):
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
    return {"python": sys.executable, "environment": {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}}


def test_a_sample_is_estimated_as_it_is_measured(how):
    options = {**MODEL, "checkpointing": True, "accumulation": 2}
    workload = Workload(BUILT_IN, options, device="cpu", memory_limit=1024 * MIB)
    with Trials(workload, timeout=60, **how) as attempt:
        prior = attempt.estimate()
        small, large = attempt(16), attempt(64)
    measured = (large.peak_memory_bytes - small.peak_memory_bytes) / 48
    assert prior.bytes_per_sample == pytest.approx(measured, rel=UNCERTAINTY)
    assert 0 <= prior.static_bytes < small.peak_memory_bytes


def test_live_tensors_are_counted_until_they_are_gone():
    with LiveTensors() as live:
        for _ in range(3):
            one = torch.ones(1000)
            two = one + 1
            del one, two
        view = torch.ones(500)[:10]
        del view
    assert live.peak == 2 * 1000 * 4


def test_the_optimizers_state_is_in_it():
    def workload(batch_size, device, stateful):
        weight = torch.nn.Parameter(torch.ones(1000))
        optimizer = (torch.optim.Adam if stateful else torch.optim.SGD)([weight], foreach=False)

        def step():
            (weight * 2).sum().backward()
            optimizer.step()
            optimizer.zero_grad()

        return step

    with_state, without = (peak_bytes(workload, {"stateful": stateful}, 1) for stateful in (True, False))
    assert with_state - without >= 2 * 1000 * 4


def test_batches_that_the_workload_fills_up_are_seen():
    def workload(batch_size, device):
        weight = torch.nn.Parameter(torch.ones(1000))
        filled = -(-(batch_size + 3) // 16) * 16
        return lambda: (weight * torch.ones(filled, 1)).sum().backward()

    found = estimate_of(workload, {})
    assert (found["period"], found["offset"]) == (16, 3)
    plain = estimate_of(lambda batch_size, device: lambda: torch.ones(batch_size, 1000) + 1, {})
    assert (plain["period"], plain["bytes_per_sample"]) == (1, 2 * 4 * 1000)


def test_what_cannot_be_estimated_is_none(how, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import torch\n"
        "def reads(batch_size, device):\n"
        "    def step():\n"
        "        if float(torch.ones(batch_size).sum()) > 3: pass\n"
        "    return step\n"
    )
    assert estimate(Workload("mine:reads", device="cpu"), **how) is None
    assert estimate(Workload(BUILT_IN, MODEL, processes=2), **how) is None
