# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A window of steps: clocked, the last of them traced as well. Outside of it nothing hangs anywhere."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Sequence

import torch
from torch.profiler import ProfilerActivity, profile, schedule

from gaudi3_scale.core._profile.records import Step
from gaudi3_scale.devices import synchronize
from gaudi3_scale.profiler.hooks import marked
from gaudi3_scale.profiler.own_end import OwnEnd
from gaudi3_scale.profiler.step_parts import BACKWARD, COMMUNICATION, COMPILE, FORWARD, StepParts
from gaudi3_scale.profiler.vendor_counters import VendorCounters


@dataclass(frozen=True)
class Schedule:
    """``wait`` steps pass, ``clocked`` ones are clocked, and then ``warmup`` and ``active`` ones traced as well."""

    wait: int
    clocked: int
    warmup: int
    active: int

    @property
    def first_traced(self) -> int:
        return self.wait + self.clocked

    @property
    def end(self) -> int:
        return self.first_traced + self.warmup + self.active


class Window:
    """To be told of each step that ends. ``activities`` empty: nothing is traced, only clocked."""

    def __init__(
        self,
        plan: Schedule,
        device: torch.device,
        activities: Sequence[ProfilerActivity],
        *,
        memory: bool = False,
        first_step: int = 1,
    ) -> None:
        self.steps: list[Step] = []
        self.stalled = 0.0
        self._trace: Optional[Any] = None
        self._plan = plan
        self._device = device
        self._activities = list(activities)
        self._memory = memory
        self._first_step = first_step
        self._passed = 0
        self._open = contextlib.ExitStack()
        self._parts: Optional[StepParts] = None
        self._begin_of_step()

    @property
    def done(self) -> bool:
        return self._passed >= self._plan.end

    @property
    def traced(self) -> Optional[Any]:
        """PyTorch's profiler, where it has seen a step behind its own warm-up."""
        return self._trace if sum(step.traced for step in self.steps) > self._plan.warmup else None

    @property
    def tracing(self) -> bool:
        return bool(self._activities) and self._passed >= self._plan.first_traced

    def step(self) -> None:
        """A step is over."""
        if self.done:
            return
        if self._parts is not None:
            self._end_of_step(self._parts)
        self._passed += 1
        if self.done:
            self.close()
        else:
            self._begin_of_step()

    def close(self) -> None:
        """Nothing hangs any more; what was traced is there."""
        self._open.close()
        self._parts = None
        self._passed = max(self._passed, self._plan.end)

    def _begin_of_step(self) -> None:
        if self._passed == self._plan.wait and not self.done:
            self._hang()
        if self._passed == self._plan.first_traced and self._activities and not self.done:
            self._start_tracing()
        if self._parts is not None:
            self._parts.restart()

    def _hang(self) -> None:
        synchronize(self._device)
        self._own_end = OwnEnd(self._device)
        self._counters = VendorCounters(self._device)
        self._parts = StepParts()
        self._open.enter_context(marked(self._parts, self._own_end))

    def _start_tracing(self) -> None:
        plan = schedule(wait=0, warmup=self._plan.warmup, active=self._plan.active, repeat=1)
        self._trace = profile(activities=self._activities, schedule=plan, profile_memory=self._memory, acc_events=True)
        self._trace.start()
        self._open.callback(self._trace.stop)

    def _end_of_step(self, parts: StepParts) -> None:
        begun = time.perf_counter()
        synchronize(self._device)
        drain = 0.0 if self._device.type == "cpu" else time.perf_counter() - begun
        parts.take(self._own_end.waiting(), BACKWARD, COMMUNICATION)
        parts.take(self._counters.compiled(), FORWARD, COMPILE)
        self.stalled += self._counters.stalled()
        number = self._first_step + self._passed
        self.steps.append(parts.end(number, self._own_end.knows, drain, self.tracing))
        if self.tracing and self._trace is not None and self._passed + 1 < self._plan.end:
            self._trace.step()


def export(trace: Any, path: Path) -> None:
    """As a Chrome trace, under its name when it is whole. Raises OSError."""
    new = path.with_name(f".{path.name}")
    trace.export_chrome_trace(str(new))
    new.replace(path)
