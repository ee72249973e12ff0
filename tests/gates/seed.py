# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The number by which a run draws its rows: it counts on from run to run, so that each row has its turn."""

from __future__ import annotations

import secrets
from pathlib import Path

from .runner import ROOT

LAST = ROOT / "build" / "last_seed"
# Where a checkout begins to count: servers have a new one for each run.
BEGINNINGS = 1_000_000


def drawn(given: int | None, last: Path = LAST) -> int:
    """``given``, or the one after the last of this checkout; written down for the next run where it was not given."""
    if given is not None:
        return given
    try:
        seed = int(last.read_text(encoding="ascii")) + 1
    except (OSError, ValueError):
        seed = secrets.randbelow(BEGINNINGS)
    last.parent.mkdir(parents=True, exist_ok=True)
    last.write_text(f"{seed}\n", encoding="ascii")
    return seed
