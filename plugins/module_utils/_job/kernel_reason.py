# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What the kernel knows of a rank's end and the rank could not write: a node without memory, a disk without space."""

from __future__ import annotations

import errno
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Callable

from .failure import SIGKILL, RankFailure
from .failure_kinds import DISK, MEMORY
from .kernel_log import kernel_log, what_took_the_memory
from .reported_failure import CAUSE

NO_MEMORY = "the kernel ended a process since the node has no memory left"
# How torch says that a worker of a data loader was killed; the rank then ends by an exception.
_WORKER_KILLED = "killed by signal: Killed"
_FULL = {errno.ENOSPC: "no space left on", errno.EDQUOT: "the disk quota is used up for"}
# What a log needs at least.
_WRITTEN_BYTES = 1 << 14


def with_kernel_reason(
    failure: RankFailure, no_memory: bool, log_directory: str, log: Callable[[], str] = kernel_log
) -> RankFailure:
    """``failure`` with what the kernel did meanwhile. ``no_memory``: it ended a process for want of memory."""
    is_said = failure.echo != CAUSE or "space left" in failure.message
    places = () if is_said else (str(Path(failure.path).parent), log_directory)
    full = next(filter(None, map(full_disk, places)), "")
    took = what_took_the_memory(log()) if no_memory else ""
    memory = f"{NO_MEMORY}{f': {took}' if took else ''}" if no_memory else ""
    message = "; ".join(filter(None, (failure.message, memory, full)))
    return replace(failure, message=message, kind=MEMORY if no_memory else DISK if full else failure.kind)


def was_killed(failure: RankFailure) -> bool:
    """Whether SIGKILL ended the rank or a process that it had started, as the kernel does for want of memory."""
    return failure.exit_code == SIGKILL or _WORKER_KILLED in failure.message


def full_disk(directory: str) -> str:
    """Why nothing can be written to this directory, for want of space alone: "" where there is some.

    The kernel is asked by a file without a name, which is gone at once: of a quota, and of what is kept for root,
    nothing else knows.
    """
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            file.write(b"\0" * _WRITTEN_BYTES)
    except OSError as error:
        said = _FULL.get(error.errno or 0)
        return f"{said} {directory}" if said else ""
    return ""
