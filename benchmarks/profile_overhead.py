# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a profiler costs outside of its window: ``python -m benchmarks.profile_overhead``.

A loop of small steps runs in blocks, in turn bare, with a profiler whose window is yet to come, and with one whose
window is over. Printed are the median of the ratios to the bare block beside it, and the range of half of them; and,
since these differ by more than they are to show, what the one call that is left in a step takes by itself.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from typing import Callable

import torch

from gaudi3_scale.profiler.profiler import GaudiProfiler


def block(step: Callable[[], None], steps: int, profiler: GaudiProfiler | None) -> float:
    """Seconds of this thread's processor time, which other programs do not change much."""
    begun = time.thread_time()
    for _number in range(steps):
        step()
        if profiler:
            profiler.step()
    return time.thread_time() - begun


def call_us(profiler: GaudiProfiler, calls: int = 100_000) -> float:
    """Microseconds of processor time."""
    begun = time.thread_time()
    for _number in range(calls):
        profiler.step()
    return round((time.thread_time() - begun) / calls * 1e6, 3)


def quartiles(values: list[float]) -> dict[str, float]:
    first, median, third = statistics.quantiles(values, n=4)
    return {"median": round(median, 5), "from": round(first, 5), "to": round(third, 5)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=400)
    parser.add_argument("--steps", type=int, default=20, help="of a block")
    given = parser.parse_args()
    torch.set_num_threads(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.GELU(), torch.nn.Linear(256, 256))
    optimizer = torch.optim.AdamW(model.parameters())
    batch = torch.randn(64, 256)

    def step() -> None:
        model(batch).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    cpu = torch.device("cpu")
    ratios: dict[str, list[float]] = {"before": [], "after": []}
    waiting = GaudiProfiler((), schedule_wait=10**9, device=cpu)
    ended = GaudiProfiler((), schedule_wait=1, schedule_warmup=0, schedule_active=1, device=cpu)
    with waiting, ended:
        block(step, 10, ended)
        bare = block(step, given.steps, None)
        milliseconds = bare / given.steps * 1e3
        for _turn in range(given.blocks):
            for name, profiler in (("before", waiting), ("after", ended)):
                before, seen = block(step, given.steps, None), block(step, given.steps, profiler)
                after = block(step, given.steps, None)
                ratios[name].append(2 * seen / (before + after))
        calls = {"before": call_us(waiting), "after": call_us(ended)}
    found = {name: quartiles(values) for name, values in ratios.items()}
    print(json.dumps({"step_ms": round(milliseconds, 3), "ratio_to_bare": found, "call_us": calls}, indent=1))


if __name__ == "__main__":
    main()
