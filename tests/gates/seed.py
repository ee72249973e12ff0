# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The number by which a run draws its rows: it counts on from run to run, so that each row has its turn."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path

from .runner import ROOT

LAST = ROOT / "build" / "last_seed"
# Where a checkout begins to count that does not know its branch.
BEGINNINGS = 1_000_000


def drawn(given: int | None, last: Path = LAST, checkout: Path = ROOT) -> int:
    """``given``, or the one after the last of this checkout; written down for the next run where it was not given.

    Servers have a new checkout for each run. They begin with the number of the branch's commits, so that from landing
    to landing each row has its turn there, too.
    """
    if given is not None:
        return given
    try:
        seed = int(last.read_text(encoding="ascii")) + 1
    except (OSError, ValueError):
        seed = _commits(checkout) or secrets.randbelow(BEGINNINGS)
    last.parent.mkdir(parents=True, exist_ok=True)
    last.write_text(f"{seed}\n", encoding="ascii")
    return seed


def _commits(checkout: Path) -> int:
    """Of the branch; 0 where nobody knows, as in a shallow clone."""
    shallow, counted = (
        subprocess.run(["git", *words], cwd=checkout, text=True, capture_output=True, check=False).stdout.strip()
        for words in (["rev-parse", "--is-shallow-repository"], ["rev-list", "--first-parent", "--count", "HEAD"])
    )
    return int(counted) if shallow == "false" and counted.isdecimal() else 0
