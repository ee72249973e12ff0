# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""How often the verdict on a training is right: ``python -m benchmarks.profile_verdicts --runs 24``.

Trainings of four ranks over gloo, each slowed down by nothing, by one known cause or by two
(``benchmarks/profile_injected.py``). A run is right where exactly the injected causes are said, and the slow rank, node
or link by name; an accusation is a cause, or a name, that was not injected. Shares are held against what was injected.

With ``--traceml DIR`` TraceML then judges a training with the same faults (``benchmarks/profile_rival.py``).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Sequence

CAUSES = ("data", "host", "compile", "communication", "memory", "slow rank", "slow node", "slow link")
SECONDS = (0.12, 0.24)
# Of eight runs one has a single cause, four have two, and three have none, until all kinds had their turn.
KINDS = ("single", "pair", "healthy", "pair", "single", "pair", "healthy", "pair")


@dataclass(frozen=True)
class Outcome:
    """Words with shares, injected and said. ``accused`` are those said of what had nothing."""

    injected: dict[str, float]
    said: dict[str, float]
    named: bool
    rival: set[str] | None = None

    @property
    def right(self) -> bool:
        return self.named and set(self.said) == (set(self.injected) or {"compute"})

    @property
    def accused(self) -> list[str]:
        return sorted(set(self.said) - set(self.injected) - {"compute"}) + ([] if self.named else ["a wrong name"])

    @property
    def error(self) -> float:
        return max((abs(self.said.get(word, 0.0) - share) for word, share in self.injected.items()), default=0.0)


def draw(runs: int, seed: int) -> list[tuple[str, ...]]:
    """The causes of each run."""
    choice = random.Random(seed)
    pairs = choice.sample(list(itertools.combinations(CAUSES, 2)), 28)
    singles = choice.sample(CAUSES, len(CAUSES))
    single, pair = itertools.cycle([(word,) for word in singles]), itertools.cycle(pairs)
    kinds = itertools.islice(itertools.cycle(KINDS), runs)
    return [() if kind == "healthy" else next(single) if kind == "single" else next(pair) for kind in kinds]


def run_once(causes: Sequence[str], choice: random.Random, traceml: Path | None = None) -> Outcome:
    # Imported here: the ranks are forked from a process in which nothing else runs.
    from benchmarks.profile_faults import LINK_FACTOR, NETWORK, Faults
    from benchmarks.profile_injected import train
    from gaudi3_scale.core._profile.directory import read_records, read_traces
    from gaudi3_scale.core._profile.verdict import judge

    seconds = {cause: choice.uniform(*SECONDS) for cause in causes}
    if "slow link" in seconds:
        seconds["slow link"] = LINK_FACTOR if "communication" in causes else seconds["slow link"] / NETWORK
    faults = Faults(seconds, choice.choice(("forward", "backward")))
    with tempfile.TemporaryDirectory() as directory:
        injected = train(faults, Path(directory)).causes
        records = read_records(directory)
        traces, _wrong = read_traces(directory, records)
        verdict = judge(records, traces)
    names = {"slow rank": (1,), "slow node": (2, 3), "slow link": (1, 2)}
    named = all(cause.ranks == names.get(cause.word, ()) for cause in verdict.causes)
    rival = None
    if traceml:
        from benchmarks.profile_rival import rival_words

        with tempfile.TemporaryDirectory() as directory:
            try:
                rival = rival_words(faults, traceml, Path(directory))
            except RuntimeError as error:
                # Its run is left out of its column.
                print(error, file=sys.stderr)
    return Outcome(injected, {cause.word: cause.share for cause in verdict.causes}, named, rival)


def report(outcomes: Sequence[Outcome]) -> dict[str, object]:
    kinds = {"healthy": 0, "single": 1, "pair": 2}
    found: dict[str, object] = {}
    for kind, count in kinds.items():
        runs = [one for one in outcomes if len(one.injected) == count]
        if runs:
            found[kind] = {
                "runs": len(runs),
                "right": sum(one.right for one in runs),
                "accusing": sum(bool(one.accused) for one in runs),
                "worst_share_error": round(max(one.error for one in runs), 3),
                **_of_rival(runs),
            }
    return found


def _of_rival(runs: Sequence[Outcome]) -> dict[str, int]:
    judged = [(one.rival, set(one.injected)) for one in runs if one.rival is not None]
    if not judged:
        return {}
    return {
        "traceml_runs": len(judged),
        "traceml_right": sum(said == injected for said, injected in judged),
        "traceml_accusing": sum(bool(said - injected) for said, injected in judged),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", help="causes of each run instead, as data,host")
    parser.add_argument("--traceml", type=Path, metavar="DIR", help="where pip has installed it")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    choice = random.Random(given.seed)
    runs = [tuple(given.only.split(","))] * given.runs if given.only else draw(given.runs, given.seed)
    outcomes = []
    for causes in runs:
        one = run_once(causes, choice, given.traceml)
        outcomes.append(one)
        shown = {kind: {word: f"{share:.0%}" for word, share in shares.items()} for kind, shares in _both(one).items()}
        rival = {} if one.rival is None else {"traceml": sorted(one.rival)}
        print(json.dumps({"right": one.right, **shown, "accused": one.accused, **rival}), flush=True)
    print(json.dumps(report(outcomes), indent=1))


def _both(one: Outcome) -> dict[str, dict[str, float]]:
    return {"injected": one.injected, "said": one.said}


if __name__ == "__main__":
    main()
