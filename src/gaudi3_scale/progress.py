# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The step at which a rank is, in a file of its own: what a hang and a slow rank are found by (docs/follow.md).

Standard library only, so that any script can use it without loading anything::

    progress = ProgressFile.of_job(os.environ)
    for step in range(1, steps + 1):
        ...
        progress.done(step)
"""

from __future__ import annotations

import json
import os
import sys
import time
from math import isfinite
from pathlib import Path
from typing import Mapping

DIRECTORY = "GAUDI3_SCALE_PROGRESS_DIR"
EVERY_S = 1.0


class ProgressFile:
    """Replaces ``<directory>/<local rank>.json`` as a whole, at most once a second. Without a directory it does
    nothing, and where it cannot write it says so once: a job never ends for its sake.
    """

    def __init__(self, directory: str | None, rank: int, local_rank: int, every: float = EVERY_S) -> None:
        self._path = Path(directory, f"{local_rank}.json") if directory else None
        self._rank = rank
        self._every = every
        self._next = 0.0
        self._complained = False

    @classmethod
    def of_job(cls, environment: Mapping[str, str]) -> ProgressFile:
        """Of the process that torchrun, or whatever sets the same variables, has started with this environment."""
        return cls(
            environment.get(DIRECTORY), int(environment.get("RANK", "0")), int(environment.get("LOCAL_RANK", "0"))
        )

    @property
    def due(self) -> bool:
        """Whether :meth:`done` would write now."""
        return self._path is not None and time.monotonic() >= self._next

    def done(self, step: int, busy_seconds: float | None = None, *, last: bool = False) -> None:
        """``step`` is finished. ``busy_seconds`` is the mean that one took of this rank's own work, as far as known.
        The ``last`` one is written in any case."""
        if self._path is None or not (self.due or last):
            return
        self._next = time.monotonic() + self._every
        line = {
            "rank": self._rank,
            "step": step,
            "time": round(time.time(), 3),
            "busy_seconds": round(busy_seconds, 6) if busy_seconds is not None and isfinite(busy_seconds) else None,
            "pid": os.getpid(),
        }
        new = self._path.with_suffix(f".{os.getpid()}")
        try:
            new.write_text(json.dumps(line) + "\n", encoding="ascii")
            new.replace(self._path)
        except OSError as error:
            if not self._complained:
                sys.stderr.write(f"{self._path} cannot be written ({error.strerror}): this rank's hangs go unseen.\n")
            self._complained = True
