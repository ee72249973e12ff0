# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Wall time and trials of a batch search on real training steps under a real memory limit, ours and others'.

    .venv/bin/python -m benchmarks.batch_real

Three small models in PyTorch on the CPU; each finder starts from nothing, and its time has the imports in it. The true
limit is found by halving, each size in a process of its own, and kept in build/; next to it a size runs or not by
chance. accelerate is measured where it is installed: ``.venv/bin/pip install accelerate``, or another Python that has
it as ``--python``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchmarks.batch_real_models import KINDS
from benchmarks.batch_real_peers import FINDERS, STEPS
from gaudi3_scale.batch.trial_forks import Trials
from gaudi3_scale.core._batch.bounds import Bounds
from gaudi3_scale.core._batch.search import OK, largest_batch
from gaudi3_scale.core._batch.trial import Workload

ROOT = Path(__file__).resolve().parents[1]
TRUTH = ROOT / "build" / "batch_real_truth.json"
MAXIMUM = 1024
FURTHER_STEPS = 200
# More than the default of 1 %: pieces that PyTorch and Python keep move a process by half a mebibyte, of so few.
MARGIN = 0.02
# One thread: on a machine that does other things, too, PyTorch's threads wait for each other most of the time.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
TIMEOUT = 600.0
OURS, OURS_ESTIMATED = "ours", "ours, with an estimate"
GOOD = 0.95


@dataclass(frozen=True)
class Result:
    """``share`` is the answer as a part of the true limit. ``search_seconds`` are those without imports; of ours
    ``trial_seconds`` went into trials, the start of their process and the estimate.
    """

    finder: str
    kind: str
    answer: int
    share: float
    trials: int
    failed: int
    seconds: float
    search_seconds: float
    survives: bool = False
    trial_seconds: float = 0.0


def workload(kind: str, steps: int = STEPS - 1) -> Workload:
    return Workload(
        "benchmarks.batch_real_models:training",
        {"kind": kind},
        steps=steps,
        device="cpu",
        memory_limit=KINDS[kind].memory_limit,
    )


def trials_of(wanted: Workload) -> Trials:
    return Trials(wanted, python=sys.executable, timeout=TIMEOUT, environment=ENVIRONMENT)


def true_limit(kind: str) -> int:
    """The largest size that runs, between one that does and one that does not."""
    key = f"{kind} {KINDS[kind].memory_limit} torch {torch.__version__}"
    known = json.loads(TRUTH.read_text()) if TRUTH.exists() else {}
    if key not in known:
        with trials_of(workload(kind)) as attempt:
            low, high = 1, MAXIMUM + 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if attempt(middle).outcome == OK else (low, middle)
        TRUTH.parent.mkdir(exist_ok=True)
        TRUTH.write_text(json.dumps({**known, key: low}, indent=2) + "\n")
        known[key] = low
    return int(known[key])


def ours(kind: str, limit: int, name: str) -> Result:
    started = time.perf_counter()
    within: list[float] = []
    with trials_of(workload(kind)) as attempt:
        _timed(attempt.start, within)
        search_started = time.perf_counter()
        prior = _timed(attempt.estimate, within) if name == OURS_ESTIMATED else None
        bounds = Bounds(maximum=MAXIMUM, limit_bytes=KINDS[kind].memory_limit, margin=MARGIN, prior=prior)
        found = largest_batch(lambda size: _timed(lambda: attempt(size), within), bounds)
        searched = time.perf_counter() - search_started
    seconds = time.perf_counter() - started
    failed = sum(trial.outcome != OK for trial in found.trials)
    size = found.batch_size
    return Result(
        name,
        kind,
        size,
        size / limit,
        len(found.trials),
        failed,
        seconds,
        searched,
        trial_seconds=sum(within),
    )


def _timed(call: Callable[[], Any], within: list[float]) -> Any:
    start = time.perf_counter()
    try:
        return call()
    finally:
        within.append(time.perf_counter() - start)


def theirs(finder: str, kind: str, limit: int, python: str) -> Result | None:
    """None where it could not be run."""
    started = time.perf_counter()
    # Lightning leaves a checkpoint in its directory where it fails.
    with tempfile.TemporaryDirectory() as directory:
        done = subprocess.run(
            [python, "-m", "benchmarks.batch_real_peers", finder, kind],
            cwd=directory,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    seconds = time.perf_counter() - started
    if done.returncode:
        print(f"{finder} on {kind}: {(done.stderr.strip().splitlines() or ['no output'])[-1]}", file=sys.stderr)
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    size = found["answer"]
    return Result(finder, kind, size, size / limit, found["trials"], found["failed"], seconds, found["search_seconds"])


def with_survival(kind: str, results: Sequence[Result]) -> list[Result]:
    """Whether a job with each answer makes so many further steps; where a larger one does, a smaller one does, too."""
    survived = 0
    with trials_of(workload(kind, steps=FURTHER_STEPS)) as attempt:
        for size in sorted({one.answer for one in results}, reverse=True):
            if size > 0 and attempt(size).outcome == OK:
                survived = size
                break
    return [replace(one, survives=0 < one.answer <= survived) for one in results]


HEADINGS = ("answer", "of limit", "trials", "failed", "seconds", "search", "survives")


def show(kind: str, limit: int, results: Sequence[Result]) -> None:
    memory = KINDS[kind].memory_limit >> 20
    print(f"\n{kind}, {memory} MiB, true limit {limit}\n{'':24}" + "".join(f"{heading:>10}" for heading in HEADINGS))
    for one in results:
        print(
            f"{one.finder:24}{one.answer:>10}{one.share:>10.1%}{one.trials:>10}{one.failed:>10}{one.seconds:>10.1f}"
            f"{one.search_seconds:>10.1f}{'yes' if one.survives else 'NO':>10}",
            flush=True,
        )


def goals(results: Sequence[Result]) -> list[tuple[str, float, float]]:
    """What is held, its figure, and the most that it may be."""
    mine = [one for one in results if one.finder == OURS_ESTIMATED]
    overhead = max(one.seconds - one.trial_seconds for one in mine)
    return [
        ("our answers below 95 % of the true limit", sum(one.share < GOOD for one in mine), 0),
        ("our answers that do not survive", sum(not one.survives for one in mine), 0),
        ("our failed trials, worst", max(one.failed for one in mine), 1),
        ("our seconds besides imports, estimate and trials, worst", overhead, 1),
        _against_the_best("our seconds for each good answer", results, lambda one: one.seconds),
        _against_the_best("the same without imports", results, lambda one: one.search_seconds),
    ]


def _against_the_best(
    what: str, results: Sequence[Result], seconds: Callable[[Result], float]
) -> tuple[str, float, float]:
    """A good answer is at least 95 % of the limit, and survives."""
    cost = {}
    for name in dict.fromkeys(one.finder for one in results):
        runs = [one for one in results if one.finder == name]
        good = sum(one.share >= GOOD and one.survives for one in runs)
        cost[name] = sum(seconds(one) for one in runs) / good if good else float("inf")
    peers = {name: cost[name] for name in cost if name not in (OURS, OURS_ESTIMATED)}
    best = min(peers, key=lambda name: peers[name])
    return f"{what}, as a part of the best peer's ({best})", cost[OURS_ESTIMATED] / peers[best], 0.5


def main() -> int:
    """Print the tables; returns the number of goals that are not held."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--python", default=sys.executable, help="the Python that the others run in")
    options.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="runs of each finder; the median one counts"
    )
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    results: list[Result] = []
    for kind in KINDS:
        limit = true_limit(kind)
        rows = [_median([ours(kind, limit, name) for _ in range(arguments.repeat)]) for name in (OURS, OURS_ESTIMATED)]
        for finder in FINDERS:
            runs = [theirs(finder, kind, limit, arguments.python) for _ in range(arguments.repeat)]
            rows += [_median([one for one in runs if one is not None])] if any(runs) else []
        rows = with_survival(kind, rows)
        show(kind, limit, rows)
        results += rows
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in results], indent=2) + "\n")
    print()
    held = goals(results)
    for text, figure, most in held:
        print(f"{'held  ' if figure <= most else 'MISSED'} {text}: {figure:.3g}, at most {most:g}")
    return sum(figure > most for _text, figure, most in held)


def _median(runs: Sequence[Result]) -> Result:
    middle = statistics.median_low([one.seconds for one in runs])
    return next(one for one in runs if one.seconds == middle)


if __name__ == "__main__":
    sys.exit(main())
