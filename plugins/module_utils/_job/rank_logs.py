# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What torchrun and its ranks left in their logs about ranks that did not end well."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Container

from .._node.regular_file import read_end
from .failure import RankFailure, agent_entries, first_failure, noticed_entry, rank_failure, uncaught

TAIL_BYTES = 1 << 16
# Of a traceback with all its frames.
LARGEST_ERROR = 1 << 20


def tail(path: str) -> str | None:
    """The end of a regular file as text, or None where there is none."""
    return read_end(path, TAIL_BYTES)


def attempt_directory(ranks_directory: str) -> str | None:
    """Where the ranks log that were started last: torchrun adds a random part to the directory it is given."""
    found = {}
    for place in Path(ranks_directory).glob("*/attempt_*"):
        # A run that begins meanwhile may put it away.
        with contextlib.suppress(OSError):
            found[str(place)] = os.lstat(place).st_mtime
    return max(found, key=found.__getitem__, default=None)


def ranks_that_end(attempt: str, alive: Container[int]) -> bool:
    """Whether a rank of ``attempt`` has gone, or raised an exception, that its agent may not have seen yet."""
    started = [int(place.parent.name) for place in Path(attempt).glob("[0-9]*/stderr.log")]
    return any(local not in alive or uncaught(tail(f"{attempt}/{local}/stderr.log") or "") for local in started)


def torchrun_failures(agent_log: str, attempt: str, first_rank: int = 0) -> list[RankFailure]:
    """The ranks of this node that the agent names, the cause first.

    ``attempt`` is the directory of their logs. An agent that was ended before its table names one rank at most, whose
    number is counted from ``first_rank``.
    """
    entries = agent_entries(agent_log) or list(filter(None, [noticed_entry(agent_log, first_rank, time.time())]))
    failures = []
    for entry in entries:
        stderr = f"{attempt}/{entry.local_rank}/stderr.log"
        # Where torch writes it, not where a log says so: ranks write into that log, too.
        error_file = read_end(f"{attempt}/{entry.local_rank}/error.json", LARGEST_ERROR) if entry.wrote_error else None
        failures.append(rank_failure(entry, error_file, tail(stderr) or "", stderr))
    cause = first_failure(failures)
    return sorted(failures, key=lambda failure: failure is not cause)
