# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which checkpoints a directory holds, which of them every rank can resume from, and which are surplus."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Sequence

PATTERN = re.compile(r"step-(\d{8,})\.ckpt")


def checkpoint_path(directory: Path, step: int) -> Path:
    return directory / f"step-{step:08d}.ckpt"


def available_steps(directory: Path) -> list[int]:
    """The steps with a whole checkpoint, in rising order; one that is still being written has another name."""
    if not directory.is_dir():
        return []
    names = (PATTERN.fullmatch(entry.name) for entry in directory.iterdir())
    return sorted(int(name[1]) for name in names if name)


def newest_common(steps_of_ranks: Sequence[Sequence[int]]) -> int | None:
    """The newest step that every rank has, or None."""
    common = set.intersection(*(set(steps) for steps in steps_of_ranks))
    return max(common, default=None)


def surplus(steps: Sequence[int], keep: int) -> list[int]:
    """The steps that are not among the newest ``keep``."""
    return sorted(steps)[:-keep]
