# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How many trials a batch size costs, ours and others', on simulated memory: counts, the same on every machine.

    .venv/bin/python -m benchmarks.batch_search [--curves N]

Each finder meets the same workloads: six shapes of memory, ten true limits, so many seeds. A trial is one run at one
size; a failed one ran out of memory. An answer is unsafe if one of 200 further steps would run out, or if it is 0.
With ``--curves`` the workloads are N curves drawn from a seed (``benchmarks/batch_curves.py``).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.batch_models import HELD, LIMITS, MAXIMUM, SHAPES, WARM_UP, Workload, workload
from benchmarks.batch_peers import Finder, accelerate, deepspeed, deepspeed_tuned, lightning_finders, seeds
from gaudi3_scale.core._batch.bounds import Bounds
from gaudi3_scale.core._batch.memory_model import Prior
from gaudi3_scale.core._batch.search import OK, OUT_OF_MEMORY, Search, Trial, largest_batch

OURS, OURS_ESTIMATED = "ours", "ours, with an estimate"
# How far the host's estimate is off, at most, and what it says of itself.
ESTIMATE_ERROR = 0.15


@dataclass(frozen=True)
class Result:
    """What one finder did with one workload. ``answer`` is as a part of the true limit."""

    finder: str
    shape: str
    limit: int
    trials: int
    failed: int
    answer: float
    unsafe: bool


def ours(simulated: Workload) -> int:
    return search(simulated).batch_size


def ours_estimated(simulated: Workload) -> int:
    """With bytes known beforehand, each wrong by up to 15 %: without the kink of a late optimizer or of rounding."""
    dice = random.Random(f"estimate {simulated.shape} {simulated.limit} {simulated.seed}")
    static = simulated.peak(0) if simulated.shape != "late" else simulated.resting
    sample = (simulated.peak(simulated.limit) - static) / simulated.limit
    wrong = [1 + dice.uniform(-ESTIMATE_ERROR, ESTIMATE_ERROR) for _ in range(2)]
    prior = Prior(static * wrong[0] * simulated.card, max(sample, 1e-9) * wrong[1] * simulated.card, ESTIMATE_ERROR)
    return search(simulated, prior).batch_size


def search(simulated: Workload, prior: Prior | None = None) -> Search:
    """Our search with its defaults on a simulated workload."""

    def attempt(size: int) -> Trial:
        peaks = simulated.run(size)
        if peaks is None:
            return Trial(size, OUT_OF_MEMORY)
        later = peaks[WARM_UP:]
        return Trial(
            size,
            OK,
            peak_memory_bytes=int(max(peaks) * simulated.card),
            step_seconds=0.01 + 0.001 * size,
            resting_memory_bytes=int(simulated.resting * simulated.card),
            peak_spread_bytes=int((max(later) - min(later)) * simulated.card),
        )

    limit = int(simulated.memory * simulated.card)
    return largest_batch(attempt, Bounds(maximum=MAXIMUM, limit_bytes=limit, prior=prior))


def finders() -> dict[str, Finder]:
    return {
        OURS: ours,
        OURS_ESTIMATED: ours_estimated,
        **lightning_finders(),
        "accelerate from 1024, transcribed": accelerate,
        "seeds' bisection, transcribed": seeds,
        "DeepSpeed fast, transcribed": deepspeed,
        "DeepSpeed with its tuning": deepspeed_tuned,
    }


def measure(
    name: str, finder: Finder, shapes: Sequence[str], seeds_each: int, spare: float | None = None
) -> list[Result]:
    results = []
    for shape in shapes:
        for limit in LIMITS:
            for seed in range(seeds_each):
                simulated = workload(shape, limit, seed, spare)
                answer = finder(simulated)
                unsafe = answer < 1 or not simulated.safe(answer)
                results.append(
                    Result(name, shape, limit, len(simulated.tried), simulated.failed, answer / limit, unsafe)
                )
    return results


def row(results: Sequence[Result]) -> tuple[float, ...]:
    trials = [result.trials for result in results]
    failed = [result.failed for result in results]
    answers = [result.answer for result in results]
    return (
        statistics.median(trials),
        max(trials),
        sum(trials) / len(trials),
        statistics.median(failed),
        max(failed),
        min(answers),
        statistics.median(answers),
        sum(answer < 0.95 for answer in answers),
        sum(result.unsafe for result in results),
    )


HEADINGS = ("trials", "worst", "mean", "failed", "worst", "answer", "median", "<95 %", "unsafe")


def show(title: str, groups: dict[str, list[Result]]) -> None:
    print(f"\n{title}\n{'':36}" + "".join(f"{heading:>8}" for heading in HEADINGS))
    for name, results in groups.items():
        figures = "".join(f"{figure:8.4g}" if isinstance(figure, int) else f"{figure:8.2f}" for figure in row(results))
        print(f"{name:36}{figures}")


def main() -> int:
    """Print the tables; returns the number of goals that are not held."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--seeds", type=int, default=20, metavar="N", help="workloads of each shape and limit")
    options.add_argument("--curves", type=int, metavar="N", help="instead so many drawn curves of the shapes told")
    options.add_argument("--seed", type=int, default=480, help="of the curves (default: %(default)s)")
    options.add_argument("--ours", action="store_true", help="leave the other finders out, which take most of the time")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    if arguments.curves:
        from benchmarks.batch_curve_table import tables

        return tables(arguments.curves, arguments.seed, arguments.ours)
    measured = {name: measure(name, finder, tuple(SHAPES), arguments.seeds) for name, finder in finders().items()}
    count = len(LIMITS) * arguments.seeds
    print(f"{count} workloads a shape: true limits {', '.join(map(str, LIMITS))}, {arguments.seeds} seeds each.")
    for title, shapes in {
        "All shapes": tuple(SHAPES),
        f"Affine and kinked ({', '.join(HELD)})": HELD,
        **{f"Shape {shape}": (shape,) for shape in SHAPES},
    }.items():
        groups = {name: [one for one in results if one.shape in shapes] for name, results in measured.items()}
        show(title, groups)
    tight = {OURS: measure(OURS, ours, HELD, arguments.seeds, spare=0.0)}
    show("Ours, where the true limit fills the memory to the last byte", tight)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for group in measured.values() for one in group]) + "\n")
    return check(measured)


def check(measured: dict[str, list[Result]]) -> int:
    """Print each goal with its figures; returns how many are not held."""
    mine = measured[OURS]
    held = row([one for one in mine if one.shape in HELD])
    everything = row(mine)
    cost = {name: trials_an_answer(results) for name, results in measured.items()}
    best = min((name for name in measured if name not in (OURS, OURS_ESTIMATED)), key=lambda name: cost[name])
    goals: list[tuple[str, float, float]] = [
        ("median trials, affine and kinked", held[0], 3),
        ("worst trials, affine and kinked", held[1], 6),
        ("answers below 95 %, affine and kinked", held[7], 0),
        ("median failed, all shapes", everything[3], 0),
        ("worst failed, all shapes", everything[4], 1),
        ("unsafe answers, all shapes", everything[8], 0),
        (f"trials for each good answer, as a part of the best peer's ({best})", cost[OURS] / cost[best], 0.5),
    ]
    print("\nTrials for each good answer (safe, within 3 % of the limit), and all trials as a multiple of ours")
    for name, results in measured.items():
        print(f"{name:36}{cost[name]:8.2f}{row(results)[2] / everything[2]:8.2f}")
    print()
    for text, figure, most in goals:
        print(f"{'held  ' if figure <= most else 'MISSED'} {text}: {figure:.3g}, at most {most:g}")
    return sum(figure > most for _text, figure, most in goals)


def trials_an_answer(results: Sequence[Result]) -> float:
    good = sum(one.answer >= 0.97 and not one.unsafe for one in results)
    return sum(one.trials for one in results) / max(good, 1)


if __name__ == "__main__":
    sys.exit(main())
