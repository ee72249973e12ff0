# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How far the energy of a job is off for being sampled: error against interval, over trainings drawn at random.

    .venv/bin/python -m benchmarks.energy_sampling --minutes 60

A card takes 850 W while it computes and 226 W while it waits, in each step; steps last between 0.3 and 20 s, and no two
of one job are alike to a fiftieth. What is added up is done by the collector's own code, on a clock of this program.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from collections.abc import Iterator
from itertools import islice

from benchmarks.playbook_run import ROOT

sys.path.insert(0, str(ROOT / ".collections"))

from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.energy import Energy, after

BUSY_W, WAITING_W = 850.0, 226.0
STEP_S = (0.3, 20.0)
# Of a step, within which it computes; and how far steps of one job are apart.
BUSY_SHARE, SPREAD = (0.3, 0.95), 0.02
INTERVALS_S = (1, 5, 10, 15, 30, 60)


def main() -> int:
    """Print a line for each interval."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--minutes", type=float, default=60, help="that each job takes (default 60)")
    options.add_argument("--jobs", type=int, default=500, help="for each interval (default 500)")
    given = options.parse_args()
    print("interval (s)  median (%)  95 of 100 below (%)  worst (%)")
    for interval in INTERVALS_S:
        errors = sorted(error(random.Random(seed), interval, given.minutes * 60) for seed in range(given.jobs))
        high = errors[int(len(errors) * 0.95)]
        print(f"{interval:12}  {statistics.median(errors):10.2f}  {high:19.2f}  {errors[-1]:9.2f}", flush=True)
    return 0


def error(chance: random.Random, interval: float, seconds: float) -> float:
    """Of one job's energy, in percent of what it really was."""
    power = changes(chance)
    real, until, watts = 0.0, 0.0, WAITING_W
    energy, begin = Energy(), 1000.0
    # The first sample is at any place of the first step.
    for moment in times(chance, interval, seconds):
        while until < moment:
            length, watts = next(power)
            real += length * watts
            until += length
        energy = after(energy, watts, begin + moment, interval)
    # What of the last stretch is later than the last sample.
    real -= (until - moment) * watts
    return abs(energy.joules - real) / real * 100


def times(chance: random.Random, interval: float, seconds: float) -> Iterator[float]:
    """When samples are taken: the collector keeps its rhythm, and a call of ``hl-smi`` takes its time."""
    yield 0.0
    for place in range(1, int(seconds / interval) + 1):
        yield place * interval + chance.uniform(0, 0.1)


def changes(chance: random.Random) -> Iterator[tuple[float, float]]:
    """Stretches of even power: seconds and watts. The first is a part of a step."""
    step = chance.uniform(*STEP_S)
    share = chance.uniform(*BUSY_SHARE)
    steps = (step * chance.uniform(1 - SPREAD, 1 + SPREAD) for _ in iter(int, 1))
    yield next(islice(steps, 1)) * chance.random(), WAITING_W
    for length in steps:
        yield length * share, BUSY_W
        yield length * (1 - share), WAITING_W


if __name__ == "__main__":
    sys.exit(main())
