# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One change of a node at a time: a run that was cut off goes on for a while beside the one that repeats it."""

from __future__ import annotations

import fcntl
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, Iterator

from ..errors import GaudiError

_POLL_S = 2.0


@contextmanager
def exclusive(
    name: str,
    timeout: float,
    root: str = "/",
    sleep: Callable[[float], None] = time.sleep,
    directory: str = "var/lib/gaudi3_scale",
    remedy: str = "wait for its end, or raise lock_timeout",
) -> Iterator[None]:
    """Hold the node's lock ``name`` (kept in ``directory`` below ``root``); wait ``timeout`` seconds for its holder."""
    file = Path(root, directory, f"{name.replace(' ', '_')}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    # Not "w": that would give the file another time whenever somebody looks.
    with file.open("a", encoding="utf-8") as lock:
        while not _taken(lock.fileno()):
            if time.monotonic() >= deadline:
                raise GaudiError(
                    f"Another run changes the {name} of this node since more than {timeout:.0f} s ({file} is locked); "
                    f"{remedy}."
                )
            sleep(_POLL_S)
        yield


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
