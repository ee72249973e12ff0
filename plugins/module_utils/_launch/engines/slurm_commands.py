# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Slurm's programs, as they are called for drains and for jobs."""

from __future__ import annotations

import re
from typing import Sequence

from ..._node.commands import CommandResult, Run

TIMEOUT = 60.0
DENIED = re.compile(r"invalid user id|permission denied|access denied", re.IGNORECASE)


def call_slurm(argv: Sequence[str], run: Run, *, time_format: str) -> CommandResult:
    """Run one of Slurm's programs; ``time_format`` is how it writes times: standard, relative or of strftime(3)."""
    return run(list(argv), timeout=TIMEOUT, env={"SLURM_TIME_FORMAT": time_format})
