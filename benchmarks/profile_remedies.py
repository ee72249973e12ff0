# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What following a verdict gains: ``python -m benchmarks.profile_remedies``.

A training of four ranks over gloo is slowed down by one cause, judged, and run again as the verdict advises; each time
also without the cause. Printed is the part of the injected time, for each sample, that is gone. A slow rank, node or
link is not among them: the advice is to take it out. It fails where less than four fifths are gone, or where another
cause was said.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any, Sequence

from benchmarks.profile_faults import CLOCKED, Faults

SECONDS = 0.2
LEAST = 0.8
# What the verdict's words say to do, and the same here.
ADVICE: dict[str, tuple[str, dict[str, Any]]] = {
    "data": ("--workers auto", {"workers": 2}),
    "host": ("a larger --batch-size", {"larger": 6}),
    "compile": ("pad to a few lengths", {"padded": True}),
    # A whole part of the steps that are clocked.
    "communication": ("--accumulate", {"passes": CLOCKED // 2}),
}


def removed(cause: str, repeats: int) -> dict[str, object]:
    words, advised = ADVICE[cause]
    faults = Faults({cause: SECONDS})
    said = verdict_on(faults)
    slow, sound = seconds_a_sample(faults, repeats), seconds_a_sample(Faults({}), repeats)
    after = seconds_a_sample(Faults({cause: SECONDS}, **advised), repeats)
    # Advice has a cost of its own, as a larger batch has where it no longer fits a cache: not what was injected.
    sound_after = seconds_a_sample(Faults({}, **advised), repeats)
    return {
        "cause": cause,
        "said": [one.word for one in said],
        "advised": any(words in one.next for one in said if one.word == cause),
        "slow_ms": round(slow * 1e3, 1),
        "sound_ms": round(sound * 1e3, 1),
        "after_ms": round(after * 1e3, 1),
        "sound_after_ms": round(sound_after * 1e3, 1),
        "removed": round(1 - (after - sound_after) / (slow - sound), 3),
    }


def verdict_on(faults: Faults) -> Sequence[Any]:
    from benchmarks.profile_injected import train
    from gaudi3_scale.core._profile.directory import read_records, read_traces
    from gaudi3_scale.core._profile.verdict import judge

    with tempfile.TemporaryDirectory() as directory:
        train(faults, Path(directory))
        records = read_records(directory)
        return judge(records, read_traces(directory, records)[0]).causes


def seconds_a_sample(faults: Faults, repeats: int) -> float:
    """In parts of a step of the usual size; the median of some trainings."""
    from benchmarks.profile_injected import train

    found = []
    for _repeat in range(repeats):
        with tempfile.TemporaryDirectory() as directory:
            found.append(train(faults, Path(directory)).seconds / faults.larger)
    return statistics.median(found)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cause", choices=ADVICE, nargs="+", default=list(ADVICE))
    parser.add_argument("--repeat", type=int, default=3, help="trainings of each kind; the median counts")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    right = True
    for cause in given.cause:
        found = removed(cause, given.repeat)
        print(json.dumps(found), flush=True)
        right &= found["said"] == [cause] and bool(found["advised"]) and float(str(found["removed"])) >= LEAST
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
