# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What torchrun and its ranks left in their logs about ranks that did not end well."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Container

from .failure import RankFailure, agent_entries, first_failure, noticed_entry, rank_failure, uncaught

TAIL_BYTES = 1 << 16


def tail(path: str, size: int | None = TAIL_BYTES) -> str | None:
    """The last ``size`` bytes of a file as text (None: all of it), or None where there is none."""
    try:
        with Path(path).open("rb") as stream:
            if size is not None:
                stream.seek(max(0, os.fstat(stream.fileno()).st_size - size))
            return stream.read().decode(errors="replace")
    except OSError:
        return None


def attempt_directory(ranks_directory: str) -> str | None:
    """Where the ranks log that were started last: torchrun adds a random part to the directory it is given."""
    found = Path(ranks_directory).glob("*/attempt_*")
    return max(map(str, found), key=os.path.getmtime, default=None)


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
        error_file = tail(entry.error_file, None) if entry.error_file else None
        failures.append(rank_failure(entry, error_file, tail(stderr) or "", stderr))
    cause = first_failure(failures)
    return sorted(failures, key=lambda failure: failure is not cause)
