# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Two processes that do the same at the same moment, as two controllers make them, on a slow disk."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._node.commands import CommandResult, Run

SLOW_S = 0.15
LONGEST_S = 120.0
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class TwoRuns:
    """What both ended with: a result, a refusal's sentence, or a traceback. ``turns`` are process ids as they wrote."""

    results: list[dict[str, Any]]
    refusals: list[str]
    tracebacks: list[str]
    turns: list[int]

    @property
    def took_turns(self) -> bool:
        """Whether one had written all that it writes before the other began."""
        return len(list(itertools.groupby(self.turns))) <= 2


def two_at_once(act: Callable[[Callable[[], None]], dict[str, Any]], directory: Path) -> TwoRuns:
    """Run ``act`` twice at once; it is given what to call at each step that changes something."""
    turns = directory.with_name(f"{directory.name}.turns")
    barrier, ended = _FORK.Barrier(2), _FORK.SimpleQueue()
    runs = [_FORK.Process(target=_run, args=(act, turns, barrier, ended)) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join(LONGEST_S)
        assert run.exitcode == 0, "a run hangs or was killed"
    found: dict[str, list[Any]] = {"results": [], "refusals": [], "tracebacks": []}
    for _ in runs:
        kind, what = ended.get()
        found[kind].append(what)
    return TwoRuns(**found, turns=[int(line) for line in turns.read_text().split()] if turns.exists() else [])


def _run(act: Callable[[Callable[[], None]], dict[str, Any]], turns: Path, barrier: Any, ended: Any) -> None:
    def step() -> None:
        with turns.open("a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(SLOW_S)

    synchronize = os.fsync

    def slow_disk(descriptor: int) -> None:
        step()
        synchronize(descriptor)

    os.fsync = slow_disk
    try:
        barrier.wait(60)
        ended.put(("results", act(step)))
    except GaudiError as error:
        ended.put(("refusals", str(error)))
    except BaseException:
        ended.put(("tracebacks", traceback.format_exc()))


def stepping(run: Run, step: Callable[[], None], *changing: str) -> Run:
    """``run``, that takes its time over each program that is named in ``changing``."""

    def slow(argv: Any, **more: Any) -> CommandResult:
        if any(word in changing for word in argv):
            step()
        return run(argv, **more)

    return slow


def state_of(place: Path) -> dict[str, str]:
    """Every file below ``place`` with its text, whatever the place is called; without locks."""
    files = (path for path in sorted(place.rglob("*")) if path.is_file() and path.suffix != ".lock")
    texts = ((str(path.relative_to(place)), path.read_text(errors="surrogateescape")) for path in files)
    return {name: text.replace(str(place), "PLACE") for name, text in texts}
