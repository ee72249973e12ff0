# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How often a comparison of settings is wrong, over simulated noise: ``python -m benchmarks.comparison``.

The runs are drawn instead of made; which run comes next and every verdict are the product's. Settings that do nothing
show how often a difference is found that is none; others how often a true one is found. Noise is log-normal: of each
run, and of each whole round, as a machine has it that others use too; ``spikes`` makes one run in twenty a third
slower.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from plugins.module_utils._batch.search import OK
from plugins.module_utils._batch.trial import Workload
from plugins.module_utils._compare.comparison import BASE, Comparison, Setting
from plugins.module_utils._compare.plan import Run, next_run
from plugins.module_utils._compare.verdict import HELPS, HURTS, verdicts

SPIKES, SPIKE = 0.05, 1.33
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Noise:
    """Standard deviations of the logarithms of times."""

    of_run: float
    of_round: float = 0.0
    spikes: bool = False


@dataclass(frozen=True)
class Figure:
    """``wrong``: comparisons in which any setting that does nothing, or the opposite, was said to differ.

    ``found``: settings with a true effect that were found, None where none has one.
    """

    noise: str
    settings: int
    effect: float
    rounds: float
    wrong: float
    found: float | None


def simulate(noise: Noise, speeds: Sequence[float], rounds: int, times: int, seed: int = 0) -> Figure:
    """Compare settings that are so many times as fast as the base, ``times`` times."""
    draw = random.Random(seed)
    names = [f"s{number}" for number in range(len(speeds))]
    comparison = Comparison(
        Workload("m:f", device="cpu"),
        Setting(BASE, batch_size=1),
        [Setting(name, options={name: 1}) for name in names],
        rounds=rounds,
        confidence=CONFIDENCE,
    )
    truth = dict(zip(names, speeds))
    wrong = found = made = 0
    for _ in range(times):
        runs = list(_runs(comparison, truth, noise, draw))
        made += max(run.round for run in runs)
        said = {one.name: one.verdict for one in verdicts(runs, comparison)}
        right = {name: HELPS if speed > 1 else HURTS if speed < 1 else "" for name, speed in truth.items()}
        wrong += any(said[name] in (HELPS, HURTS) and said[name] != right[name] for name in names)
        found += sum(said[name] == right[name] for name in names)
    real = Counter(speed != 1 for speed in speeds)[True]
    effect = max((abs(speed - 1) for speed in speeds), default=0.0)
    share = found / (times * real) if real else None
    return Figure(_named(noise), len(names), effect, made / times, wrong / times, share)


def _runs(comparison: Comparison, speeds: dict[str, float], noise: Noise, draw: random.Random) -> Iterator[Run]:
    runs: list[Run] = []
    of_round: dict[int, float] = {}
    while (following := next_run(runs, comparison)) is not None:
        number, name = following
        seconds = of_round.setdefault(number, draw.lognormvariate(0, noise.of_round)) / speeds.get(name, 1.0)
        seconds *= draw.lognormvariate(0, noise.of_run) * (SPIKE if noise.spikes and draw.random() < SPIKES else 1)
        runs.append(Run(number, name, OK, seconds))
        yield runs[-1]


def _named(noise: Noise) -> str:
    of_round = f", {noise.of_round:.0%} a round" if noise.of_round else ""
    return f"{noise.of_run:.1%} a run{of_round}{', spikes' if noise.spikes else ''}"


def figures(times: int, rounds: int) -> list[Figure]:
    """The table: nothing differs, then one of two settings does."""
    noises = [Noise(0.004), Noise(0.01), Noise(0.02), Noise(0.02, 0.1), Noise(0.02, 0.1, spikes=True), Noise(0.05)]
    equal = [simulate(noise, [1.0] * count, rounds, times) for noise in noises for count in (1, 4)]
    true = [simulate(noise, [1 + effect, 1.0], rounds, times) for noise in noises for effect in (0.02, 0.05, 0.1)]
    return equal + true


def main() -> int:
    """Measure and print; returns 1 where equal settings are told apart more often than is stated."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--times", type=int, default=2000, metavar="N", help="comparisons of each line")
    options.add_argument("--rounds", type=int, default=10, metavar="N", help="most rounds of a comparison")
    options.add_argument("--json", type=Path, help="also write the figures here")
    arguments = options.parse_args()
    found = figures(arguments.times, arguments.rounds)
    print(
        f"at most {arguments.rounds} rounds, {arguments.times} comparisons a line, stated wrong: {1 - CONFIDENCE:.0%}"
    )
    for one in found:
        power = "" if one.found is None else f"  found {one.found:6.1%}"
        print(
            f"{one.noise:<34} {one.settings} settings, effect {one.effect:4.0%}  {one.rounds:4.1f} rounds  "
            f"wrong {one.wrong:5.1%}{power}"
        )
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(one) for one in found], indent=2) + "\n")
    # Three standard errors of a rate at what is stated.
    allowed = 1 - CONFIDENCE + 3 * (CONFIDENCE * (1 - CONFIDENCE) / arguments.times) ** 0.5
    return int(any(one.wrong > allowed for one in found))


if __name__ == "__main__":
    raise SystemExit(main())
