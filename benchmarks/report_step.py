# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What ``gaudi3_scale.report_step`` costs a training loop: microseconds of the processor a call, on rank 0.

    python -m benchmarks.report_step [--calls 200000]

Once with a plain loss and once with a tensor, which is kept and not read; and what a call takes that writes a line
and the progress file, of which there is one in two seconds at most.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from typing import Callable

import torch

from gaudi3_scale.reporting.steps import LINE_EVERY_S, StepReports

ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=200_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        files = {"GAUDI3_SCALE_METRICS": f"{directory}/metrics.jsonl", "GAUDI3_SCALE_PROGRESS_DIR": directory}
        os.environ.update({**files, "RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"})
        weight = torch.ones(1, requires_grad=True)
        for name, loss in (("a plain loss", 2.5), ("a tensor", (2 * weight).sum())):
            # The least of several rounds: whatever else the machine does can only add to it.
            seconds = min(_round(options.calls, loss) for _ in range(ROUNDS))
            print(f"{1e6 * seconds:.2f} microseconds a call with {name}, nothing due")
        print(f"{1e6 * min(_line(loss) for _ in range(200)):.0f} microseconds for a line and a progress file")


def _round(calls: int, loss: object) -> float:
    import gaudi3_scale
    from gaudi3_scale.reporting import report_step as module

    # A clock that stands: the lines would be in the figure of a call without one.
    module._reports = StepReports(os.environ, _standing(time.monotonic()))
    module._reports._progress._every = 3600.0
    gaudi3_scale.report_step(1, loss=loss)
    begun = time.process_time()
    for step in range(2, calls + 2):
        gaudi3_scale.report_step(step, loss=loss, tokens=4096, max_steps=1 << 40, learning_rate=1e-3)
    return (time.process_time() - begun) / calls


def _standing(now: float) -> Callable[[], float]:
    return lambda: now


def _line(loss: object) -> float:
    now = [0.0]
    reports = StepReports(os.environ, lambda: now[0])
    reports.report(1, loss=loss)
    reports._progress._next, now[0] = 0.0, LINE_EVERY_S
    begun = time.process_time()
    reports.report(2, loss=loss, tokens=4096, max_steps=1 << 40, learning_rate=1e-3)
    return time.process_time() - begun


if __name__ == "__main__":
    main()
