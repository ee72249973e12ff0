# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a comparison says to an operator while it runs, and why it ends where the base does not run; pure."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from .._batch.refusals import in_gib
from .._batch.search import CRASH, HANG, OK, OUT_OF_MEMORY
from .._node.commands import last_line
from .._node.quantities import quantity
from .plan import Run

_LONGEST = 300
_LOOK = "check dmesg and the card's status in `hl-smi`, reset a card that is not operational "
_RESET = "(`hl-smi -r -i <address>`), then run again; the comparison resumes after the finished runs"


def run_line(run: Mapping[str, Any], made: int, rounds: int) -> str:
    """One run, as a module returned it."""
    where = f"round {run['round']} of at most {rounds}" if run["round"] else "not counted"
    return f"run {made}, {where}: {run['name']} {_outcome(run)}"


def broken_base(run: Run, culprit: Run | None, batch_size: int, timeout: float) -> str:
    """Why there is nothing to compare with; ``culprit`` is the setting that crashed or hung just before."""
    said = reason(run.message)
    if culprit is not None:
        did = "crashed" if culprit.outcome == CRASH else f"did not finish within {timeout:g} s"
        return (
            f"{culprit.name} {did} ({reason(culprit.message)}), and since then the base does not run either "
            f"({said}): the device was left unusable; {_LOOK}{_RESET}; {culprit.name} will not be tried again."
        )
    if run.outcome == OUT_OF_MEMORY:
        return (
            f"The base runs out of memory at batch size {batch_size} ({said}); give it a smaller batch_size, which "
            "probe_batch_size.yml finds."
        )
    if run.outcome == HANG:
        return (
            f"The base did not finish within {timeout:g} s and was stopped ({said}); raise timeout if it compiles "
            "for longer, "
            f"otherwise {_LOOK}{_RESET}."
        )
    if run.outcome == CRASH:
        return f"The base crashed: {said}; {_LOOK}{_RESET}."
    return f"The base cannot be run: {said}; correct the workload, its options or the venv, then run again."


def neighbors(runs: Sequence[Run]) -> list[str]:
    """A warning where somebody else had some of the card's memory, and so perhaps of its time."""
    shared = [run for run in runs if run.used_by_others_bytes]
    if not shared:
        return []
    most = max(run.used_by_others_bytes or 0 for run in shared)
    sentence = (
        f"Other processes used up to {in_gib(most)} of the card's memory before {len(shared)} of the runs, and "
        "may have slowed them; "
        "stop the processes that use the card, and compare again with refresh."
    )
    return [sentence]


def reason(message: str) -> str:
    """What a process left, in short and without a full stop."""
    return last_line(message).strip().rstrip(".")[:_LONGEST]


def _outcome(run: Mapping[str, Any]) -> str:
    if run["outcome"] != OK:
        return f"{run['outcome'].replace('_', ' ')}: {reason(run['message'])}"
    seconds = run["step_seconds"]
    return f"{quantity(1000 * seconds)} ms a step" if seconds else "ran"
