# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One job, one fault, and what became of it."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.survival.engines import TORCHFT, Setting, Started, start
from benchmarks.survival.faults import LASTS_S, Fault
from benchmarks.survival.first_error import FirstError, names_of
from benchmarks.survival.network import namespaces, runs
from benchmarks.survival.steps import Outcome, Step, first_of_new, judge, read_steps
from plugins.module_utils._errors import GaudiError

STEPS_BEFORE = 20
START_S = 120.0
LOOK_S = 0.05
# How long old ranks are watched after a mend: whether they step beside new ones.
SETTLE_S = 10.0
LOG_BYTES = 2000
MEMORY = "/dev/shm"


class StepFiles:
    """The steps of all nodes, read as they come."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._read = {place / "steps.jsonl": 0 for place in places}
        self.steps: dict[Path, list[Step]] = {place: [] for place in places}

    def look(self) -> list[Step]:
        """All so far."""
        for path, offset in self._read.items():
            with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
                stream.seek(offset)
                data = stream.read()
                whole = data[: data.rfind(b"\n") + 1]
                self._read[path] = offset + len(whole)
                self.steps[path.parent].extend(read_steps(whole.decode(errors="replace")))
        return [step for steps in self.steps.values() for step in steps]


def run_trial(
    engine: str, fault: Fault, nodes: int, limit: float, setting: Setting, kept: Path | None = None
) -> Outcome:
    """``limit``: seconds after the fault for which it is watched. Raises GaudiError where the job does not start.

    Nodes and directory of ``setting`` are made anew. What the nodes wrote is copied to ``kept``.
    """
    with tempfile.TemporaryDirectory(prefix="survival-") as name, contextlib.ExitStack() as stack:
        directory = Path(name)
        memory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="survival-", dir=MEMORY)))
        if kept is not None:
            stack.callback(shutil.copytree, directory, kept, dirs_exist_ok=True)
        hub, made = stack.enter_context(namespaces(nodes))
        started = start(engine, replace(setting, hub=hub, nodes=tuple(made), directory=directory, memory=memory))
        files = StepFiles([one.place for one in started])
        _wait_for_steps(started, files, setting)
        return _watch(fault, started, files, limit, engine == TORCHFT)


def _wait_for_steps(started: Sequence[Started], files: StepFiles, setting: Setting) -> None:
    """So many as are wanted, for as long as is wanted, and then until half way between two checkpoints."""
    begun = time.monotonic()
    end = begun + START_S
    while files.look() is None or any(len(steps) < STEPS_BEFORE for steps in files.steps.values()):
        if time.monotonic() > end:
            logs = "".join((one.place / "log").read_text(errors="replace")[-LOG_BYTES:] for one in started)
            raise GaudiError(f"the job made no {STEPS_BEFORE} steps within {START_S:g} s:\n{logs}")
        time.sleep(LOOK_S)
    time.sleep(max(0.0, begun + setting.before - time.monotonic()))
    begun = time.monotonic()
    while not is_between(max(step.number for step in files.look()), setting.every):
        if time.monotonic() > begun + START_S:
            raise GaudiError(f"the job has made no step for {START_S:g} s.")
        time.sleep(LOOK_S)


def is_between(step: int, every: int) -> bool:
    """Whether it is half way from one checkpoint to the next, or little further: steps may be fast."""
    return 0 <= step % every - every // 2 <= every // 10


def _watch(fault: Fault, started: Sequence[Started], files: StepFiles, limit: float, others_go_on: bool) -> Outcome:
    old = {step.pid for step in files.look() if runs(step.pid)}
    lost = started[fault.index]
    number = range(1, len(started) + 1)[fault.index]
    pids = {step.pid for step in files.steps[lost.place]} & old | {lost.agent}
    errors = FirstError([one.place / "log" for one in started], names_of(number, lost.node.address, pids))
    named: float | None = None
    began = time.time()
    fault.inject(started, old)
    gone: float | None = None
    mended = began if fault.mend is None else None
    while True:
        now = time.time()
        if named is None and errors.look():
            named = now - began
        if gone is None and not any(map(runs, old)):
            gone = now
        if mended is None and fault.mend is not None and now > began + LASTS_S:
            fault.mend(started, old)
            mended = now
        settled = mended is not None and (fault.mend is None or now > mended + SETTLE_S)
        known = (gone is not None or others_go_on) and first_of_new(files.look(), old) is not None
        if (known and settled) or now > began + limit:
            running = any(runs(one.agent) for one in started)
            found = judge(files.look(), old, began, gone, now, running)
            return replace(found, named=named, said=errors.look())
        time.sleep(LOOK_S)
