# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The first real error of a hundred scripted failures: how many are right, in how many seconds, beside torchrun's own.

    PYTHONPATH=.collections:src:. .venv/bin/python -m benchmarks.first_errors [--nvrx PYTHON]

torchrun's answer is the rank that its tables call the root cause, from the same exit times, and what they say of it
(torch 2.13: ``error.json`` of ranks under ``@record``, else the exit status). Each node has a table of its own: the
earliest of them counts, and of several in the same second any that is right. NVRx's answer is the line that its
restart agent calls the primary failure; PYTHON (3.12) imports it. Its wheel of 0.7.0 installs with glibc 2.39 only, but
the agent needs none of what is compiled: unpack the wheel where that Python looks.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.first_errors_nvrx import asked
from benchmarks.first_errors_nvrx import is_right as nvrx_is_right
from tests.scripted_failures.answers import answer, is_right
from tests.scripted_failures.cases import CASES
from tests.scripted_failures.model import MPIRUN, Case
from tests.scripted_failures.written import deaths, recorded_second, root_causes, write

# Kinds of which torchrun's line on a signal says what there is to say.
OF_SIGNALS = ("signal",)


def torchruns(case: Case) -> tuple[bool, bool]:
    """Whether torchrun names the right rank, and what it died of."""
    roots = root_causes(case)
    all_of_them = deaths(case)
    seconds = {rank: recorded_second(case, rank) for rank in roots.values()}
    first = min(seconds.values(), default=0)
    named = case.expected.rank in [rank for rank, second in seconds.items() if second == first]
    death = all_of_them.get(case.expected.rank)
    says = death is not None and (bool(death.error) or (death.code < 0 and case.expected.kind in OF_SIGNALS))
    return named, named and says


def measured(case: Case) -> tuple[bool, bool, float]:
    """Whether the rank and node are right, whether all is, and the seconds to the answer."""
    with tempfile.TemporaryDirectory() as place:
        places = write(case, Path(place))
        begun = time.perf_counter()
        found = answer(case, places)
        seconds = time.perf_counter() - begun
    wrong = ["none"] if found is None else is_right(case, *found)
    return not any(one.startswith(("rank", "node", "none")) for one in wrong), not wrong, seconds


def nvrx(python: str) -> dict[str, object]:
    """How many of the failures below torchrun it has right; its launcher starts no other ranks."""
    answers = [nvrx_is_right(case, asked(case, python)) for case in CASES if case.engine != MPIRUN]
    return {
        "NVRx: rank right": sum(rank for rank, _reason in answers),
        "NVRx: reason right, too": sum(reason for _rank, reason in answers),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.first_errors", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--nvrx", metavar="PYTHON", help="of a venv with NVRx 0.7.0")
    arguments = parser.parse_args()
    found = {case.name: measured(case) for case in CASES}
    theirs = {case.name: torchruns(case) for case in CASES if case.engine != MPIRUN}
    large = next(case.name for case in CASES if case.repeated)
    seconds = [one[2] for one in found.values()]
    told = {
        "failures": len(CASES),
        "rank and node right": sum(one[0] for one in found.values()),
        "reason, kind and frame right, too": sum(one[1] for one in found.values()),
        "seconds, median": round(statistics.median(seconds), 4),
        "seconds, longest": round(max(seconds), 3),
        "seconds, 200 MB of output": round(found[large][2], 3),
        "torchrun: failures below it": len(theirs),
        "torchrun: rank right": sum(one[0] for one in theirs.values()),
        "torchrun: reason right, too": sum(one[1] for one in theirs.values()),
        **(nvrx(arguments.nvrx) if arguments.nvrx else {"NVRx": "not run: give --nvrx"}),
    }
    print("\n".join(f"{name:36} {value}" for name, value in told.items()))
    return 0 if told["reason, kind and frame right, too"] == len(CASES) else 1


if __name__ == "__main__":
    sys.exit(main())
