# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Slurm's programs, as they are called for drains, jobs and checks, wherever the site has them."""

from __future__ import annotations

import re
from typing import Sequence

from .._node.commands import CommandResult, Run
from .site import find_site

TIMEOUT = 60.0
DENIED = re.compile(r"invalid user id|permission denied|access denied", re.IGNORECASE)
# As 22.05.8 says it, and before configurations could come from the controller.
_NO_CONFIGURATION = re.compile(
    r"could not establish a configuration source|unable to process configuration file", re.IGNORECASE
)


def call_slurm(argv: Sequence[str], run: Run, *, time_format: str, timeout: float = TIMEOUT) -> CommandResult:
    """Run one of Slurm's programs; ``time_format`` is how it writes times: standard, relative or of strftime(3).

    One that is on no search path, or finds no configuration, is called again as the units of Slurm's daemons have
    theirs: neither did anything the first time.
    """
    own = {"SLURM_TIME_FORMAT": time_format}
    done = run(list(argv), timeout=timeout, env=own)
    if done.rc != 127 and not _NO_CONFIGURATION.search(done.stderr):
        return done
    around = find_site(run).environment
    return run(list(argv), timeout=timeout, env={**around, **own}) if around else done
