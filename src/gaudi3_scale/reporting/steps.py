# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a program tells of its steps, as the files by which a job is followed (docs/follow.md): on every rank its
progress file, on rank 0 metric lines as well. Standard library only.

Nothing here ends a program: what cannot be told is said once on standard error, and left out.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import Any, Callable, Mapping

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.json_lines import line_writer, no_line
from gaudi3_scale.metrics.bridge_counters import bridge_counters, counters_file
from gaudi3_scale.metrics.rates import Rates
from gaudi3_scale.progress import DIRECTORY, ProgressFile
from gaudi3_scale.reporting.counted_work import CountedWork
from gaudi3_scale.reporting.reported_numbers import real_of, step_of

METRICS = "GAUDI3_SCALE_METRICS"
# Seconds from one line to the next at least: of a job of three days it makes 130,000 lines, which are read in seconds.
LINE_EVERY_S = 2.0


class StepReports:
    """The reports of this process. ``active``: it belongs to a job, so that there is somebody to tell."""

    def __init__(self, environment: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        rank, local_rank = _count(environment, "RANK", 0), _count(environment, "LOCAL_RANK", 0)
        self._world_size = max(1, _count(environment, "WORLD_SIZE", 1))
        self._nodes = max(1, self._world_size // max(1, _count(environment, "LOCAL_WORLD_SIZE", 1)))
        self._environment = environment
        self._clock = clock
        self._progress = ProgressFile(environment.get(DIRECTORY), rank, local_rank)
        self._metrics = environment.get(METRICS) if rank == 0 else None
        self.active = bool(environment.get(DIRECTORY) or self._metrics)
        self._write = no_line
        self._said: set[str] = set()
        self._counters = counters_file(environment)
        self._counted = CountedWork(self._world_size, self._real, self._say_no_number, self.say)
        self._started = False
        self._forget()

    def _forget(self) -> None:
        self._step = -1
        # A number, or PyTorch's, which is read when it has to be written: reading waits for the device.
        self._loss: Any = None
        self._rate: Any = None
        self._norm: Any = None
        self._busy: object = None
        self._counted.forget()
        self._max_steps: int | None = None
        self._line_step = -1
        self._next = 0.0
        self._rates = Rates()
        self._losses: list[object] = []

    @property
    def due(self) -> bool:
        """Whether the next report writes this rank's progress file."""
        return self._progress.due

    def start(self, step: int, max_steps: int | None = None, **fields: object) -> None:
        """The steps after ``step`` follow, which is 0 or that of the checkpoint that the program goes on from."""
        self._forget()
        self._started, self._step, self._line_step = True, step, step
        self._max_steps = max_steps
        self._open()
        if self._metrics:
            # It loads what the collection knows of flags: not for ranks that write no lines.
            from gaudi3_scale.metrics.run_facts import run_facts

            self._write(
                "start",
                step=step,
                max_steps=max_steps,
                resumed_from=step or None,
                world_size=self._world_size,
                nodes=self._nodes,
                **fields,
                **run_facts(self._environment),
            )

    def _open(self) -> None:
        if not self._metrics or self._write is not no_line:
            return
        path, self._metrics = self._metrics, None
        try:
            self._write = line_writer(path)
            self._metrics = path
        except GaudiError as error:
            self.say("metrics", f"{path} cannot be written, so this job's page has no steps ({error.__cause__}).")

    def report(
        self,
        step: object,
        *,
        loss: object = None,
        tokens: object = None,
        samples: object = None,
        max_steps: object = None,
        learning_rate: object = None,
        busy_seconds: object = None,
        gradient_norm: object = None,
        flops: object = None,
    ) -> None:
        """``step`` is finished; see :func:`gaudi3_scale.report_step`."""
        made = step_of(step)
        if made is None:
            self.say(
                "step", f"report_step was given the step {_short(step)}, which is not a step number; give 1, 2, 3, …."
            )
            return
        if not self._started:
            self.start(max(0, made - 1), None if max_steps is None else step_of(max_steps))
        if made < self._step:
            self._backwards(made)
            return
        self._step, self._busy = made, busy_seconds
        if self._progress.due:
            self._progress.done(made, self._real("busy_seconds", busy_seconds))
        if not self._metrics:
            return
        self._keep(loss, learning_rate, gradient_norm, {"tokens": tokens, "samples": samples, "flops": flops})
        if max_steps is not None:
            self._max_steps = step_of(max_steps)
        now = self._clock()
        if now >= self._next or made == self._max_steps:
            self._line(made, now)

    def _keep(self, loss: Any, learning_rate: object, norm: Any, counts: Mapping[str, object]) -> None:
        """For the next line."""
        if loss is not None:
            # Without the graph that it came from, which would stay in memory with it.
            self._loss = loss if isinstance(loss, float) else loss.detach() if hasattr(loss, "detach") else loss
        if learning_rate is not None:
            self._rate = learning_rate
        if norm is not None:
            self._norm = norm.detach() if hasattr(norm, "detach") else norm
        self._counted.add(counts)

    def tell(self, kind: str, **fields: object) -> None:
        """A line of another kind."""
        self._write(kind, **fields)

    def finish(self) -> None:
        """The program ends: its last step is told, unless it was."""
        if not self._started:
            return
        self._progress.done(self._step, self._real("busy_seconds", self._busy), last=True)
        if self._step <= self._line_step or not self._metrics:
            return
        if not isinstance(self._loss, (int, float)):
            # A device may not answer any more.
            self._loss = None
        self._line(self._step, self._clock())

    def end(self) -> None:
        """The program has trained to its end."""
        self.finish()
        ends = {"first_loss": self._losses[0], "last_loss": self._losses[-1]} if self._losses else {}
        self._write("end", step=self._step, max_steps=self._max_steps, **ends)

    def _line(self, step: int, now: float) -> None:
        if step <= self._line_step and self._loss is None:
            return
        self._next = now + LINE_EVERY_S
        each = self._rates.add(step, now) if step > self._line_step else None
        steps, self._line_step = step - self._line_step, step
        left = None if self._max_steps is None else self._rates.seconds_left(self._max_steps)
        loss, rate = self._real("loss", self._loss), self._real("learning_rate", self._rate)
        norm = self._real("gradient_norm", self._norm)
        if loss is not None:
            self._losses = [self._losses[0] if self._losses else loss, loss]
        self._write(
            "step",
            step=step,
            max_steps=self._max_steps,
            **({} if loss is None else {"loss": loss}),
            **({} if norm is None else {"gradient_norm": norm}),
            **(self._counted.speeds(each * steps) if each else {}),
            seconds_left=left and round(left, 1),
            ends_at=None if left is None else round(time.time() + left),
            **({} if rate is None else {"lr": rate}),
            seconds={"step": each and round(each, 7)},
            **bridge_counters(self._counters),
        )
        self._loss = self._norm = None
        self._counted.forget()

    def _real(self, what: str, value: object) -> float | None:
        if value is None or isinstance(value, float):
            return value
        number = real_of(value)
        if number is None:
            self._say_no_number(what, value)
        return number

    def _say_no_number(self, what: str, value: object) -> None:
        self.say(what, f"report_step was given {what}={_short(value)}, which is not a number; it is ignored.")

    def _backwards(self, step: int) -> None:
        self.say(
            "backwards",
            f"report_step({step}) came after report_step({self._step}): steps only go forward, so count them over all "
            f"epochs; reports of steps before {self._step} are ignored.",
        )
        # It is no hang: what is watched there is that the file changes.
        self._progress.done(step)

    def say(self, about: str, sentence: str) -> None:
        """Once: on standard error, and for the page where this rank has one."""
        if about in self._said:
            return
        self._said.add(about)
        self._open()
        with contextlib.suppress(OSError, ValueError, AttributeError):
            sys.stderr.write(f"gaudi3_scale: {sentence}\n")
        self._write("warning", message=sentence)


def _count(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 10 else default


def _short(value: object) -> str:
    try:
        text = repr(value)
    except Exception:
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."


def of_this_process() -> StepReports:
    """The reports of the process that torchrun, or whatever sets the same variables, has started."""
    return StepReports(os.environ)
