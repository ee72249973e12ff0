# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""How far the warm-up of an instance is, by the lines of its log. Values only.

Its port opens after the warm-up, which takes from a minute to an hour; until then the log is all that there is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_STEP = re.compile(r"\[Warmup\]\[([^\]]{1,60})\]\[(\d{1,9})/(\d{1,9})\]")
_END = re.compile(r"Warmup finished in (\d{1,9}(?:\.\d{1,6})?) secs?")
# Of a program that ends: what it says of why, in one line.
_REASON = re.compile(r"(?:^|\s)(?:[\w.]*(?:Error|Exception)|error): |is refused:")


@dataclass(frozen=True)
class WarmUp:
    """``phase`` is the engine's word (Prompt, Decode), of which ``done`` of ``of`` graphs are compiled; 0 of 0: it has
    not begun. ``seconds`` is what all of it took, None while it runs.
    """

    phase: str = ""
    done: int = 0
    of: int = 0
    seconds: float | None = None

    @property
    def text(self) -> str:
        if self.seconds is not None:
            return f"warm-up finished in {self.seconds:g} s"
        return f"warm-up {self.phase} {self.done}/{self.of}" if self.of else "starting"


def read_warm_up(lines: Iterable[str]) -> WarmUp:
    """Of the log since the last start."""
    found = WarmUp()
    for line in lines:
        step, end = _STEP.search(line), _END.search(line)
        if step:
            found = WarmUp(step[1], int(step[2]), int(step[3]))
        elif end:
            found = WarmUp(found.phase, found.done, found.of, float(end[1]))
    return found


def remaining_seconds(before: WarmUp, now: WarmUp, seconds: float) -> float | None:
    """Of this phase, at the pace of the last ``seconds``; None where nothing is known."""
    made = now.done - before.done
    if before.phase != now.phase or made <= 0 or now.seconds is not None:
        return None
    return (now.of - now.done) * seconds / made


def reason_of(lines: Iterable[str]) -> str:
    """Why a program has ended, by what it said last."""
    said = [line.strip() for line in lines if line.strip()]
    reasons = [line for line in said if _REASON.search(line)]
    return ((reasons or said)[-1:] or ["no message"])[0][-400:].rstrip(".")
