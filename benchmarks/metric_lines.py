# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What it costs a rank to be seen: microseconds of its processor a step for the clock and the lines, on the CPU.

    python -m benchmarks.metric_lines [--steps 2000] [--every 10]

The hooks that Lightning would call are called by themselves, on a real DDP model of one rank, so that nothing else is
in the figures. One step in ``--every`` writes a line and all write the progress file when it is due.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from types import SimpleNamespace
from typing import Any

import torch
import torch.distributed

from gaudi3_scale.json_lines import line_writer
from gaudi3_scale.metrics.clocked_steps import NEXT_BATCH, ClockedSteps
from gaudi3_scale.metrics.metric_lines import MetricLines
from gaudi3_scale.metrics.observation import ReportedProgress
from gaudi3_scale.metrics.peak_memory import memory_use
from gaudi3_scale.metrics.step_clock import StepClock
from gaudi3_scale.metrics.step_work import StepWork
from gaudi3_scale.progress import ProgressFile

ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--every", type=int, default=10)
    options = parser.parse_args()
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    with tempfile.TemporaryDirectory() as directory:
        # The least of several rounds: whatever else the machine does can only add to it.
        seconds = min(_round(directory, options.steps, options.every) for _ in range(ROUNDS))
    torch.distributed.destroy_process_group()
    share = 100 * seconds / 0.01
    print(f"{1e6 * seconds:.0f} microseconds a step, a line each {options.every} steps: {share:.2f} % of one of 10 ms")


def _round(directory: str, steps: int, every: int) -> float:
    device = torch.device("cpu")
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8))
    model(torch.ones(1, 8)).sum().backward()
    clock = StepClock(device, lambda _step: True)
    first = ClockedSteps(clock)
    write = line_writer(f"{directory}/metrics.jsonl")
    lines = MetricLines(every, steps, StepWork(4096, 16), write, clock=clock, nodes=["node"], memory=memory_use(None))
    progress = ReportedProgress(ProgressFile(directory, 0, 0), clock)
    # What the callbacks read of a Trainer.
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    trainer: Any = SimpleNamespace(
        strategy=SimpleNamespace(model=model, root_device=device),
        global_step=0,
        max_steps=steps,
        optimizers=[optimizer],
    )
    loss = torch.tensor(1.0)
    outputs = {"loss": loss}
    for callback in (first, lines, progress):
        callback.on_train_start(trainer)
    begun = time.process_time()
    for step in range(1, steps + 1):
        first.profiler.start(NEXT_BATCH)
        first.on_train_batch_start()
        first.on_before_backward(trainer, model, loss)
        first.on_after_backward()
        for callback in (first, lines):
            callback.on_before_optimizer_step(trainer, model, optimizer)
        trainer.global_step = step
        for callback in (first, lines, progress):
            callback.on_train_batch_end(trainer, model, outputs)
    return (time.process_time() - begun) / steps


if __name__ == "__main__":
    main()
