# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""One change of a node at a time: a run that was cut off goes on for a while beside the one that repeats it."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Callable, Iterator

from .._errors import GaudiError

_POLL_S = 0.5
# How long a run waits for another one that changes the same in a moment.
SHORT_S = 300.0


@contextmanager
def exclusive(
    name: str,
    timeout: float,
    root: str = "/",
    sleep: Callable[[float], None] = time.sleep,
    directory: str = "var/lib/gaudi3_scale",
    remedy: str = "wait for it to finish, or raise lock_timeout",
) -> Iterator[None]:
    """Hold the node's lock ``name`` (kept in ``directory`` below ``root``); wait ``timeout`` seconds for its holder."""
    file = Path(root, directory, f"{name.replace(' ', '_')}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + timeout
    # Root's alone: whoever can open a file can hold its lock, for ever.
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "r+"):
        os.fchmod(descriptor, 0o600)
        while not _taken(descriptor):
            if time.monotonic() >= deadline:
                raise GaudiError(
                    f"Another run changes the {name} of this node since more than {timeout:.0f} s ({file} is locked); "
                    f"{remedy}."
                )
            sleep(_POLL_S)
        yield


def alone(name: str, directory: str, *, check_mode: bool) -> AbstractContextManager[None]:
    """As :func:`exclusive`, for a change of a moment: from looking to writing. Check mode takes none."""
    if check_mode:
        return nullcontext()
    return exclusive(name, SHORT_S, directory=directory, remedy="wait for it to finish")


def state_beside(etc: str) -> str:
    """The state directory of the system whose configuration is in ``etc``."""
    return str(Path(etc).parent / "var/lib/gaudi3_scale")


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
