# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a probe says to an operator: a line for each trial, and a sentence for what went wrong; pure."""

from __future__ import annotations

from typing import Any, Mapping, Sequence

from ..._node.quantities import quantity
from ..refusals import in_gib
from ..search import CRASH, HANG, OUT_OF_MEMORY, Trial

# From this part of the memory on, what others have of it is worth a word.
NEIGHBOR = 0.01
_LONGEST = 300


def trial_line(trial: Mapping[str, Any], number: int, following: Mapping[str, Any] | None) -> str:
    """One trial, as a module returned it, and what comes next."""
    line = f"trial {number}: batch size {trial['batch_size']} {_outcome(trial)}"
    return f"{line}; next {following['batch_size']}: {following['why']}" if following else line


def _outcome(trial: Mapping[str, Any]) -> str:
    if trial["outcome"] == OUT_OF_MEMORY:
        return "ran out of memory"
    seconds, peak, limit = trial["step_seconds"], trial["peak_memory_bytes"], trial["limit_bytes"]
    parts = []
    if peak:
        # As hl-smi and the table have it.
        parts.append(f"{peak >> 20} of {limit >> 20} MiB" if limit else f"{peak >> 20} MiB")
    if held := trial.get("held_memory_bytes"):
        # By Synapse, with what PyTorch does not count.
        parts.append(f"{held >> 20} MiB held on the card")
    if seconds:
        parts.append(f"{quantity(1000 * seconds)} ms a step, {quantity(trial['batch_size'] / seconds)} samples/s")
    return f"ran: {', '.join(parts)}" if parts else "ran"


def broken_trial(trial: Trial, before: Sequence[Trial], workload: str, timeout: float) -> str:
    """Why a trial that is neither fit nor out of memory ends the probe, and what to do."""
    size, said = trial.batch_size, _last_line(trial.message)
    if trial.outcome == HANG:
        return (
            f"The trial of batch size {size} did not finish within {timeout:g} s and was stopped ({said}); "
            "raise timeout if its first step compiles for longer, otherwise check dmesg and `hl-smi` on the node."
        )
    if trial.outcome == CRASH:
        failed = before and before[-1].outcome == OUT_OF_MEMORY
        after = (
            f", after {before[-1].batch_size} ran out of memory which may have left the card unusable" if failed else ""
        )
        return (
            f"The trial of batch size {size} crashed{after} ({said}); check dmesg and the card in `hl-smi`, reset a "
            "card that is not operational (`hl-smi -r -i <address>`), then run again; the probe resumes after "
            "the finished trials."
        )
    if said.startswith("workload "):
        # The trial's own sentence, which says what to do.
        return f"W{said[1:]}."
    return f"The workload {workload} cannot be run with batch size {size}: {said}; correct it, and run again."


def damaged_log(path: str, damage: str, backup: str | None) -> str:
    moved = f"it was moved to {backup}, and the result was measured again"
    put = moved if backup else "its result will be measured again"
    return f"{path} is damaged ({damage}); {put}."


def neighbors(trials: Sequence[Trial]) -> list[str]:
    """A warning where somebody else had some of the card's memory during a trial that counts."""
    shared = [trial for trial in trials if trial.used_by_others_bytes]
    worst = max(shared, key=lambda trial: trial.used_by_others_bytes or 0, default=None)
    if worst is None or (worst.used_by_others_bytes or 0) < NEIGHBOR * (worst.limit_bytes or 0):
        return []
    had = in_gib(worst.used_by_others_bytes or 0)
    sentence = (
        f"Other processes used {had} of the card's memory when batch size {worst.batch_size} was tried, so the "
        "result may be too small; "
        "stop the processes that use the card, and probe again with refresh."
    )
    return [sentence]


def _last_line(message: str) -> str:
    """What a trial said last, in short; its first line tells how it ended, which the sentence says already."""
    lines = message.strip().splitlines()
    said = lines[-1].rpartition("Last output: ")[2] if lines else ""
    if said in ("", "none"):
        said = lines[0].partition(". Last output")[0] if lines else "no message"
    return said.strip().rstrip(".")[:_LONGEST]
