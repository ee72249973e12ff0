# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What following a verdict gains: ``python -m benchmarks.profile_remedies``.

A training of four ranks over gloo is slowed down by one cause, judged, and run again as the verdict advises. Printed is
the part of the injected time, for each sample, that is gone. A slow rank, node or link is not among them: the advice is
to take it out. It fails where less than four fifths are gone, or where another cause was said.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

SECONDS = 0.2
LEAST = 0.8
# What the verdict's words say to do, and the same here.
ADVICE: dict[str, tuple[str, dict[str, Any]]] = {
    "data": ("--workers auto", {"workers": 2}),
    "host": ("a larger --batch-size", {"larger": 6}),
    "compile": ("pad to a few lengths", {"padded": True}),
    "communication": ("--accumulate", {"passes": 8}),
}


def removed(cause: str) -> dict[str, object]:
    from benchmarks.profile_faults import Faults
    from benchmarks.profile_injected import train
    from gaudi3_scale.core._profile.directory import read_records, read_traces
    from gaudi3_scale.core._profile.verdict import judge

    words, advised = ADVICE[cause]
    faults = Faults({cause: SECONDS})
    with tempfile.TemporaryDirectory() as directory:
        slow = train(faults, Path(directory)).seconds
        records = read_records(directory)
        verdict = judge(records, read_traces(directory, records)[0])
    with tempfile.TemporaryDirectory() as directory:
        sound = train(Faults({}), Path(directory)).seconds
    with tempfile.TemporaryDirectory() as directory:
        after = train(replace(faults, spent={}, **advised), Path(directory)).seconds / (advised.get("larger") or 1)
    return {
        "cause": cause,
        "said": [one.word for one in verdict.causes],
        "advised": any(words in one.next for one in verdict.causes if one.word == cause),
        "slow_ms": round(slow * 1e3, 1),
        "sound_ms": round(sound * 1e3, 1),
        "after_ms": round(after * 1e3, 1),
        "removed": round((slow - after) / (slow - sound), 3),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cause", choices=ADVICE, nargs="+", default=list(ADVICE))
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    right = True
    for cause in given.cause:
        found = removed(cause)
        print(json.dumps(found), flush=True)
        right &= found["said"] == [cause] and bool(found["advised"]) and float(str(found["removed"])) >= LEAST
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
