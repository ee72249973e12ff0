# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One trial of a study: a fresh training process, followed by its metric lines, and ended where it cannot win."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import statistics
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Callable, Iterator, Mapping, Sequence

from gaudi3_scale.core._batch.search import CRASH, HANG, OK
from gaudi3_scale.core._batch.trial import judge
from gaudi3_scale.core._follow.metrics import read_metrics
from gaudi3_scale.core._tune.space import LOSS, THROUGHPUT
from gaudi3_scale.json_lines import NO_NUMBERS

PRUNED = "pruned"
DIVERGED = "diverged"
WINDOWS = 10
"""A trial is compared with others after each tenth of its budget."""
POLL_S = 0.5
WARM_UP_RATES = 1
"""The first rate of a trial that is left out: caches, graphs and data loader workers come up in it."""

ASKED_S = 40
"""How long a child may take to end its ranks once it is asked to; torchrun gives them 30 s."""

Line = Mapping[str, object]


@dataclass(frozen=True)
class Ended:
    """``value`` is the objective's, None where the trial did not come to its end; ``message`` says why not."""

    outcome: str
    message: str = ""
    value: float | None = None
    tokens_per_second: float | None = None
    loss: float | None = None


class Progress:
    """The metric lines of one trial so far, and what they say."""

    def __init__(self, objective: str, steps: int) -> None:
        self._objective = objective
        self._steps = steps
        self._rates: list[float] = []
        self._losses: list[float] = []
        self._reported = 0
        self._end: Line | None = None

    def add(self, line: Line) -> tuple[int, float] | None:
        """Window and objective of it, once for each window that has come to its end."""
        if line.get("kind") == "end":
            self._end = line
        if line.get("kind") != "step":
            return None
        rate, loss = _number(line.get("tokens_per_second")), _number(line.get("loss"))
        self._rates += [] if rate is None else [rate]
        self._losses += [] if loss is None else [loss]
        window = int(WINDOWS * (_number(line.get("step")) or 0) / self._steps)
        value = self.loss if self._objective == LOSS else self.tokens_per_second
        if value is None or window <= self._reported:
            return None
        self._reported = window
        return window, value

    @property
    def diverged(self) -> bool:
        return bool(self._losses) and not math.isfinite(self._losses[-1])

    @property
    def tokens_per_second(self) -> float | None:
        """The median over the lines: one stall, as a graph that is compiled late, does not count."""
        rates = self._rates[WARM_UP_RATES:]
        return statistics.median(rates) if rates else None

    @property
    def loss(self) -> float | None:
        """Of held-out text where the trainer measured it at its end, else the last of training."""
        held_out = _number((self._end or {}).get("validation_loss"))
        return held_out if held_out is not None else (self._losses[-1] if self._losses else None)

    def ended(self, outcome: str, message: str) -> Ended:
        """What the trial was, once its process is over."""
        value = self.loss if self._objective == LOSS else self.tokens_per_second
        if self.diverged:
            outcome, message = DIVERGED, f"the loss became {self._losses[-1]}"
        if outcome == OK and value is None:
            name = {LOSS: "loss", THROUGHPUT: "tokens_per_second"}[self._objective]
            outcome, message = CRASH, f"it wrote no metric line with {name}; see docs/follow.md, Metric lines"
        return Ended(outcome, message, value if outcome == OK else None, self.tokens_per_second, self.loss)


def run_child(
    argv: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    place: Path,
    progress: Progress,
    timeout: float,
    cannot_win: Callable[[int, float], bool],
) -> Ended:
    """Run ``argv`` in ``place`` to its end, at most ``timeout`` seconds; ``cannot_win`` is asked after each window.

    Its metrics and its log lie in ``directory``. Whatever happens, no process of it is left.
    """
    metrics, log = directory / "metrics.jsonl", directory / "log"
    deadline, offset, stopped = time.monotonic() + timeout, 0, ""
    with log.open("wb") as output, _child(argv, environment, place, output) as child:
        while True:
            over = child.poll() is not None
            read = read_metrics(str(metrics), offset)
            offset = read.offset
            windows = [window for window in map(progress.add, read.lines) if window is not None]
            if over and not read.lines:
                break
            if progress.diverged:
                stopped = DIVERGED
            elif any(cannot_win(*window) for window in windows) and not over:
                stopped = PRUNED
            elif time.monotonic() > deadline:
                stopped = HANG
            if stopped and not over:
                break
            time.sleep(0 if over else POLL_S)
    if stopped in (PRUNED, DIVERGED):
        return progress.ended(stopped, "")
    if child.returncode == 0:
        return progress.ended(OK, "")
    text = log.read_text(encoding="utf-8", errors="replace")
    trial = judge(0, None if stopped else child.returncode, timeout, None, text)
    return progress.ended(trial.outcome, trial.message)


@contextlib.contextmanager
def _child(
    argv: Sequence[str], environment: Mapping[str, str], place: Path, output: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        cwd=place,
        env=dict(environment),
        start_new_session=True,
    )
    try:
        yield child
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    """torchrun starts each rank in a session of its own and ends them when it is asked to; so it is asked first."""
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(ASKED_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _number(value: object) -> float | None:
    """A number, also one that is none, of which a line has the name."""
    if value in NO_NUMBERS:
        return float(str(value))
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
