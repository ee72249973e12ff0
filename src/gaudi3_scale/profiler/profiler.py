# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A profile of anybody's loop: the parts of its steps, a Chrome trace, and why a step takes as long as it does."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Optional, Sequence

import torch
from torch.profiler import ProfilerActivity

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.core._profile.directory import read_records, read_traces, record_name, trace_name
from gaudi3_scale.core._profile.lines import verdict_lines
from gaudi3_scale.core._profile.records import Link, RankRecord, as_data
from gaudi3_scale.core._profile.trace_summary import TraceSummary, summarize
from gaudi3_scale.core._profile.verdict import Verdict, judge
from gaudi3_scale.devices import choose_device, local_device
from gaudi3_scale.metrics.peak_memory import device_memory, memory_use
from gaudi3_scale.profiler.links import measure_links
from gaudi3_scale.profiler.switched_off import refuse_switched_off
from gaudi3_scale.profiler.window import Schedule, Window, export
from gaudi3_scale.ranks import ranks_from

MEMORY = "memory"
KNOWN = ("cpu", "hpu", "cuda", MEMORY)


class GaudiProfiler:
    """Around a loop that calls :meth:`step` after each of its steps::

        profiler = GaudiProfiler(activities=["hpu", "cpu"], schedule_wait=10, schedule_clocked=20)
        with profiler:
            for batch in loader:
                ...
                profiler.step()
        profiler.export_chrome_trace("trace.json")
        profiler.print_summary()

    ``schedule_wait`` steps pass, ``schedule_clocked`` ones are clocked, ``schedule_warmup`` and ``schedule_active``
    ones are traced as well. With ``links`` the ranks, which all have to be at the same step, then send each other a few
    megabytes. With a ``directory``, which all ranks share, each rank writes its profile there, and the
    summary is of all ranks. Nothing is hung anywhere before and after these steps.
    """

    def __init__(
        self,
        activities: Sequence[str] = ("cpu",),
        schedule_wait: int = 1,
        schedule_warmup: int = 1,
        schedule_active: int = 3,
        *,
        schedule_clocked: int = 0,
        directory: str | os.PathLike[str] | None = None,
        links: bool = False,
        first_step: int = 1,
        device: Optional[torch.device] = None,
        node: str = "",
    ) -> None:
        self._ranks = ranks_from(os.environ)
        self._device = device or local_device(choose_device("auto"), self._ranks.local_rank)
        self._asked = _checked(activities)
        self._plan = Schedule(schedule_wait, schedule_clocked, schedule_warmup, schedule_active)
        self._directory = Path(directory) if directory is not None else None
        self._first_step = first_step
        self._node = node or os.environ.get("GAUDI3_SCALE_NODE") or socket.gethostname()
        self._window: Optional[Window] = None
        self._notes: list[str] = []
        self._asks_links = links
        self._links: tuple[Link, ...] = ()
        self._written = False
        self._saved: Optional[Path] = None

    def __enter__(self) -> GaudiProfiler:
        if self._directory is not None and self._ranks.local_rank == 0:
            _clear(self._directory)
        self._window = Window(
            self._plan,
            self._device,
            traced_activities(self._asked, self._device),
            memory=MEMORY in self._asked,
            first_step=self._first_step,
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened().close()
        self._write()

    @property
    def done(self) -> bool:
        """Whether the window has closed."""
        return self._opened().done

    def step(self) -> None:
        """A step of the loop is over."""
        window = self._opened()
        if not window.done:
            window.step()
            if window.done:
                self._links = measure_links(self._device) if self._asks_links else ()
                self._write()

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Raises GaudiError where nothing was traced, or the file cannot be written."""
        if self._opened().traced is None:
            raise GaudiError(
                "GaudiProfiler has traced no step; call step() at least schedule_wait + schedule_clocked + "
                "schedule_warmup + 1 times inside of its with block."
            )
        try:
            shutil.copyfile(self._trace_file(), path)
        except OSError as error:
            raise GaudiError(f"{path}: {error.strerror}; name a file that this user can write.") from error

    def record(self) -> RankRecord:
        """What this rank has measured."""
        window = self._opened()
        memory = device_memory(self._device)
        trace = trace_name(self._ranks.rank) if self._directory and window.traced is not None else ""
        return RankRecord(
            rank=self._ranks.rank,
            world_size=self._ranks.world_size,
            node=self._node,
            device=self._device.type,
            steps=tuple(window.steps),
            memory_peak=memory_use(memory).peak(),
            memory_limit=memory.limit if memory is not None else None,
            stalled=window.stalled,
            links=self._links,
            trace=trace,
            notes=tuple(self._notes),
        )

    def verdict(self) -> Verdict:
        """Of all ranks with a directory that they share, else of this one."""
        if self._directory is None:
            return judge([self.record()], self._own_trace())
        records = read_records(str(self._directory))
        traces, _wrong = read_traces(str(self._directory), records)
        return judge(records, traces)

    def print_summary(self) -> None:
        """The mean step of this rank by its parts, and the verdict."""
        sys.stdout.write("\n".join([*parts_lines(self.record()), *verdict_lines(self.verdict())]) + "\n")

    def _own_trace(self) -> dict[int, TraceSummary]:
        if self._opened().traced is None:
            return {}
        return {self._ranks.rank: summarize(str(self._trace_file()))}

    def _trace_file(self) -> Path:
        """PyTorch gives a trace out once. Raises OSError."""
        if self._saved is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="gaudi3-scale-profile-")
            self._saved = Path(self._temporary.name, trace_name(self._ranks.rank))
            export(self._opened().traced, self._saved)
        return self._saved

    def _opened(self) -> Window:
        if self._window is None:
            raise GaudiError("GaudiProfiler has measured nothing; put the loop into its with block.")
        return self._window

    def _write(self) -> None:
        """Once. A full disk costs the profile, and never the training."""
        if self._directory is None or self._written:
            return
        self._written = True
        trace, rank = self._opened().traced, self._ranks.rank
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            if trace is not None:
                export(trace, self._directory / trace_name(rank))
                self._saved = self._directory / trace_name(rank)
            path = self._directory / record_name(rank)
            new = path.with_name(f".{path.name}")
            new.write_text(json.dumps(as_data(self.record())) + "\n", encoding="ascii")
            new.replace(path)
        except OSError as error:
            sys.stderr.write(f"{self._directory}: the profile cannot be written ({error.strerror or error}).\n")


def _clear(directory: Path) -> None:
    """Of an earlier profile, which may be of more ranks. All ranks have steps to pass together before one writes."""
    for pattern in ("profile-rank-*.json", "trace-rank-*.json"):
        for path in directory.glob(pattern):
            with contextlib.suppress(OSError):
                path.unlink()


def traced_activities(asked: Sequence[str], device: torch.device) -> list[ProfilerActivity]:
    """Of those asked for, the ones that this process can have: a card's only where it computes on one."""
    names = {"cpu": "CPU", "hpu": "HPU", "cuda": "CUDA"}
    wanted = dict.fromkeys(names[name] for name in asked if name in ("cpu", device.type))
    return [getattr(ProfilerActivity, name) for name in wanted if hasattr(ProfilerActivity, name)]


def parts_lines(record: RankRecord) -> list[str]:
    """Of the steps that are not traced, or else of all."""
    steps = [step for step in record.steps if not step.traced] or list(record.steps)
    if not steps:
        return ["No step was measured."]
    count = len(steps)
    parts = {name: sum(step.parts[name] for step in steps) / count for name in steps[0].parts}
    parts["communication"] = sum(step.waited for step in steps) / count
    parts["host"] = sum(step.host for step in steps) / count
    shown = ", ".join(f"{name} {seconds * 1e3:.1f}" for name, seconds in parts.items())
    mean = sum(step.seconds for step in steps) / count
    return [f"rank {record.rank} on {record.node}, {count} steps of {mean * 1e3:.1f} ms: {shown} ms"]


def _checked(activities: Sequence[str]) -> tuple[str, ...]:
    unknown = [name for name in activities if name not in KNOWN]
    if unknown:
        raise GaudiError(f"activities: {unknown[0]!r} is none; choose from {', '.join(KNOWN)}.")
    if "hpu" in activities:
        refuse_switched_off(os.environ.get("HABANA_PROFILE"))
    return tuple(activities)
