# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How often the history of benchmarks calls a step that is none, and how soon it finds one, beside asv.

    .venv/bin/python -m benchmarks.history_steps [--asv DIR]
    .venv/bin/python -m benchmarks.history_steps --measure 20     # first: measures the noise, and adds it to the file

The noise is that of real runs: ``history_noise.json`` has the rates of runs of the built-in trainer on a CPU, each a
process of its own, as the product's steady-state rule counts them. A simulated run takes one of them at random, over
the median of its session; the same noise is also drawn in a smaller size, as of machines that do nothing else.
``--asv DIR`` puts asv (``pip install --target DIR asv``) beside it: it gets the same runs,
one value each, and what it calls counts from the same size on. Nothing here ran on a card.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / ".collections"))

from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.history_steps import LEAST, Entry, find_steps
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.metric_lines import lines_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.steady import steady_state

CHECKOUT = Path(__file__).resolve().parents[1]
NOISE = Path(__file__).with_name("history_noise.json")
STEPS, WARM_UP, EVERY = 120, 20, 5
PAIRS, SLOWER, MOST_PAIRS, REPEATS, ENTRIES, STEP_AT = 200, 0.03, 8, 5, 30, 20
# Standard deviations of the logarithm of a run's rate.
SPREADS = (0.02, 0.01, 0.005)
# The other program's answer to a list of rates: where it says that another level begins.
Finder = Callable[[Sequence[float]], list[int]]


def measure(runs: int) -> list[float]:
    """Tokens a second of so many runs, each in its own process."""
    rates = []
    for _run in range(runs):
        with tempfile.TemporaryDirectory() as directory:
            metrics = Path(directory, "metrics.jsonl")
            words = ["--text", "LICENSE", "--max-steps", str(STEPS), "--metrics-every", str(EVERY), "--loggers", "none"]
            model = ["--layers", "2", "--width", "128", "--sequence-length", "128", "--batch-size", "8"]
            kept = ["--checkpoint-every", "0", "--resume", "never", "--metrics", str(metrics), "--device", "cpu"]
            command = [sys.executable, "-m", "gaudi3_scale.train", *words, *model, *kept]
            subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
            told = [json.loads(line) for line in metrics.read_text(encoding="utf-8").splitlines()]
        found = steady_state(lines_of("here", told).lines, WARM_UP, 0.5)
        if found.why:
            print(f"not counted: {found.why}", file=sys.stderr)
            continue
        rates.append(round(found.rate, 1))
        print(f"{found.rate:,.0f} tokens/s over steps {found.steps}", file=sys.stderr)
    return rates


def residuals(sessions: Sequence[Sequence[float]]) -> list[float]:
    """Each run over the median of its session."""
    return [rate / statistics.median(session) for session in sessions for rate in session]


def asv_of(directory: str) -> Finder:
    sys.path.insert(0, directory)
    from asv.step_detect import detect_steps

    def find(values: Sequence[float]) -> list[int]:
        parts = detect_steps(list(values))
        pairs = zip(parts, parts[1:])
        return [int(new[0]) for old, new in pairs if abs(new[2] / old[2] - 1) >= LEAST]

    return find


class Draws:
    """Simulated runs from measured noise; ``scale`` makes it as many times as large."""

    def __init__(self, noise: Sequence[float], seed: int, scale: float = 1.0) -> None:
        self._noise, self._draw, self._scale = noise, random.Random(seed), scale

    def rates(self, speed: float, repeats: int) -> tuple[float, ...]:
        return tuple(speed * self._draw.choice(self._noise) ** self._scale for _repeat in range(repeats))


def equal_pairs(draws: Draws, repeats: int, asv: Finder | None) -> dict[str, Any]:
    """Calls in pairs of benchmarks that are alike: up, down, and asv's."""
    calls = {"up": 0, "down": 0, "asv": 0}
    for _pair in range(PAIRS):
        sides = draws.rates(1.0, repeats), draws.rates(1.0, repeats)
        for step in find_steps([Entry(side) for side in sides]):
            calls["up" if step.speed.estimate > 1 else "down"] += 1
        calls["asv"] += bool(asv and asv([*sides[0], *sides[1]]))
    return {"what": f"{PAIRS} equal pairs of {repeats} runs: calls", **calls}


def pairs_needed(draws: Draws, asv: Finder | None) -> dict[str, Any]:
    """How many pairs of runs until 3 % slower is found: the median, and the part found with at most five."""
    ours, theirs = [], []
    for _time in range(PAIRS):
        sides = draws.rates(1.0, MOST_PAIRS), draws.rates(1 - SLOWER, MOST_PAIRS)
        ours.append(_first(_ours, sides))
        if asv is not None:
            theirs.append(_first(asv, sides))
    return {
        "what": f"{SLOWER:.0%} slower: pairs needed in the median, and part found with at most 5",
        "median": statistics.median(ours),
        "within 5": sum(count <= REPEATS for count in ours) / PAIRS,
        **({"asv median": statistics.median(theirs)} if theirs else {}),
        **({"asv within 5": sum(count <= REPEATS for count in theirs) / PAIRS} if theirs else {}),
    }


def _ours(values: Sequence[float]) -> list[int]:
    """Of both halves as two benchmarks."""
    half = len(values) // 2
    return [step.position for step in find_steps([Entry(tuple(values[:half])), Entry(tuple(values[half:]))])]


def _first(finder: Finder, sides: Sequence[Sequence[float]]) -> int:
    """The number of pairs of runs with which it is found for the first time."""
    for count in range(2, MOST_PAIRS + 1):
        if finder([*sides[0][:count], *sides[1][:count]]):
            return count
    return MOST_PAIRS + 1


def histories(draws: Draws, asv: Finder | None, slower: float) -> dict[str, Any]:
    """Thirty benchmarks of five runs, without a step or with one at the 21st: where it is found, and what else is."""
    found = {"right": 0, "others": 0, "asv right": 0, "asv others": 0}
    wanted = {STEP_AT} if slower else set()
    for _time in range(PAIRS // 4):
        entries = [draws.rates(1 - slower if at >= STEP_AT else 1.0, REPEATS) for at in range(ENTRIES)]
        for prefix, steps in (
            ("", {step.position for step in find_steps([Entry(rates) for rates in entries])}),
            ("asv ", set(asv([statistics.median(rates) for rates in entries])) if asv else set()),
        ):
            found[f"{prefix}right"] += bool(wanted & steps)
            found[f"{prefix}others"] += len(steps - wanted)
    return {"what": f"{PAIRS // 4} histories of {ENTRIES}, {slower:.0%} slower from the {STEP_AT + 1}st on", **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", type=int, default=0, metavar="N", help="make N runs and add them to the file")
    parser.add_argument("--asv", metavar="DIR", help="where asv is installed")
    arguments = parser.parse_args()
    sessions = json.loads(NOISE.read_text(encoding="utf-8"))["sessions"] if NOISE.exists() else []
    if arguments.measure:
        sessions.append({"date": time.strftime("%Y-%m-%d"), "rates": measure(arguments.measure)})
        NOISE.write_text(json.dumps({"sessions": sessions}, indent=1) + "\n", encoding="utf-8")
        return
    noise = residuals([session["rates"] for session in sessions])
    asv = asv_of(arguments.asv) if arguments.asv else None
    measured = statistics.stdev(map(math.log, noise))
    print(json.dumps({"runs": len(noise), "measured spread": round(measured, 4)}))
    for spread in (measured, *SPREADS):
        scale = spread / measured
        for row in (
            equal_pairs(Draws(noise, 1, scale), REPEATS, asv),
            pairs_needed(Draws(noise, 2, scale), asv),
            histories(Draws(noise, 3, scale), asv, 0.0),
            histories(Draws(noise, 4, scale), asv, SLOWER),
        ):
            print(json.dumps({"spread": round(spread, 4), **row}))


if __name__ == "__main__":
    main()
