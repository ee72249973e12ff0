# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a node say about themselves: each has a file, ``<local rank>.json``, and replaces it as it goes."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from ..node.json_file import read_json


@dataclass(frozen=True)
class Progress:
    """By local rank; None where a rank has said nothing. ``busy``: seconds a step of its own work.

    ``told``: at least one has its file, be it without a step.
    """

    steps: tuple[int | None, ...] = ()
    busy: tuple[float | None, ...] = ()
    told: bool = False


def read_progress(directory: str, processes: int) -> Progress:
    """The files of this node's ranks."""
    files = [read_json(f"{directory}/{local}.json") or {} for local in range(processes)]
    steps = [step if isinstance(step := file.get("step"), int) else None for file in files]
    busy = [float(value) if isinstance(value := file.get("busy_seconds"), (int, float)) else None for file in files]
    return Progress(tuple(steps), tuple(busy), any(files))


def clear_progress(directory: str) -> None:
    """What earlier ranks said is no step of those that start now."""
    for path in Path(directory).glob("*.json"):
        with contextlib.suppress(OSError):
            path.unlink()
