# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From which checkpoint a job goes on."""

from __future__ import annotations

from pathlib import Path

import torch

from gaudi3_scale.checkpoint_files import available_steps, checkpoint_path, newest_common
from gaudi3_scale.core.errors import GaudiError
from gaudi3_scale.ranks import gather_numbers

COMPARED = 64
"""So many of each rank's newest checkpoints are compared."""


def resume_from(choice: str, directory: Path, device: torch.device) -> tuple[Path | None, int]:
    """The checkpoint meant by ``--resume`` (``auto``, ``never`` or a file) and its step; (None, 0) to begin anew.

    ``auto`` is the newest step that every rank has in its own ``directory``. Collective: every rank calls it.
    Raises GaudiError, on every rank alike, where going on or beginning anew would leave newer checkpoints behind,
    which a later ``auto`` would mistake for this job's.
    """
    steps_of_ranks = gather_numbers(available_steps(directory)[-COMPARED:], COMPARED, device)
    newest = max(max(steps, default=0) for steps in steps_of_ranks)
    if choice == "auto":
        return _newest(steps_of_ranks, newest, directory)
    path, step = (None, 0) if choice == "never" else _named(Path(choice), device)
    if newest > step:
        raise GaudiError(
            f"--resume {choice}: {directory} already holds step {newest}; move it away, or choose another --job-dir."
        )
    return path, step


def _newest(steps_of_ranks: list[list[int]], newest: int, directory: Path) -> tuple[Path | None, int]:
    step = newest_common(steps_of_ranks)
    if step is not None:
        return checkpoint_path(directory, step), step
    if newest:
        raise GaudiError(
            f"--resume auto: no checkpoint is on every node; step {newest} is missing for rank "
            f"{_ranks_without(newest, steps_of_ranks)} in {directory}; copy it there, or begin in another --job-dir."
        )
    return None, 0


def _named(path: Path, device: torch.device) -> tuple[Path, int]:
    step = torch.load(path, mmap=True, map_location="cpu")["global_step"] if path.is_file() else -1
    steps_of_ranks = gather_numbers([step] if step >= 0 else [], 1, device)
    most = max(max(steps, default=-1) for steps in steps_of_ranks)
    if any(steps != [most] for steps in steps_of_ranks):
        raise GaudiError(
            f"--resume {path}: there is no such checkpoint for rank {_ranks_without(most, steps_of_ranks)}; "
            "copy the same file to every node."
        )
    return path, step


def _ranks_without(step: int, steps_of_ranks: list[list[int]]) -> str:
    return ", ".join(str(rank) for rank, steps in enumerate(steps_of_ranks) if step not in steps)
