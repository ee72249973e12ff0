# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The collection's own trainer as the training that is disturbed, with a copy of its state in host memory at each step.

It is started as its user would start it. Lightning calls ``trainer_steps.callbacks`` for its entry point.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

# What the callback is told: where its steps go, and how many seconds each takes more.
DIRECTORY, PAUSE = "SURVIVAL_DIRECTORY", "SURVIVAL_PAUSE"
ROOT = Path(__file__).parents[2]
MODEL = ("--layers", "1", "--width", "32", "--heads", "2", "--sequence-length", "32", "--batch-size", "2")
ENDLESS = ("--max-steps", "1000000", "--validation-batches", "0", "--loggers", "none")


def trainer(every: int, memory: Path) -> tuple[str, ...]:
    """The program of a rank, with a checkpoint ``every`` so many steps and its copies in the directory ``memory``."""
    kept = ("--checkpoint-every", str(every), "--memory-every", "1", "--memory-dir", str(memory))
    return ("-m", "gaudi3_scale.train", "--device", "cpu", "--text", str(ROOT / "LICENSE"), *MODEL, *kept, *ENDLESS)


def install_steps(place: Path, pause: float) -> Mapping[str, str]:
    """Have a trainer that has the returned variables tell its steps in ``place``."""
    found = place / "installed" / "survival_steps-1.0.dist-info"
    found.mkdir(parents=True)
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: survival-steps\nVersion: 1.0\n")
    (found / "entry_points.txt").write_text(
        "[lightning.pytorch.callbacks_factory]\nsteps = benchmarks.survival.trainer_steps:callbacks\n"
    )
    return {"PYTHONPATH": f"{ROOT}:{found.parent}", DIRECTORY: str(place), PAUSE: str(pause)}
