# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a node say about themselves: each has a file, ``<local rank>.json``, and replaces it as it goes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Mapping

from gaudi3_scale.core._node.json_file import read_json

# What is beyond these was not counted: a job's program may write anything.
MOST_STEPS = 2**53
LONGEST_STEP_S = 1e9


@dataclass(frozen=True)
class Progress:
    """By local rank; None where a rank has said nothing. ``busy``: seconds a step of its own work.

    ``reported``: at least one has its file, be it without a step.
    """

    steps: tuple[int | None, ...] = ()
    busy: tuple[float | None, ...] = ()
    reported: bool = False


def read_progress(directory: str, processes: int) -> Progress:
    """The files of this node's ranks."""
    files = [read_json(f"{directory}/{local}.json") or {} for local in range(processes)]
    return Progress(tuple(map(_step, files)), tuple(map(_busy, files)), any(files))


def _step(file: Mapping[str, object]) -> int | None:
    step = file.get("step")
    if isinstance(step, bool) or not isinstance(step, int) or not 0 <= step <= MOST_STEPS:
        return None
    return step


def _busy(file: Mapping[str, object]) -> float | None:
    value = file.get("busy_seconds")
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= LONGEST_STEP_S:
        return None
    return float(value)


def clear_progress(directory: str) -> None:
    """What earlier ranks said is no step of those that start now."""
    for path in Path(directory).glob("*.json"):
        with contextlib.suppress(OSError):
            path.unlink()
