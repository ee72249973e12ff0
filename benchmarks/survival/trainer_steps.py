# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The steps of a trainer of Lightning, told as ``program.py`` tells its own."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from benchmarks.survival.trainer import DIRECTORY, PAUSE


class Steps(Callback):
    """Each finished step is a line of JSON in ``steps.jsonl`` of the directory, and takes ``pause`` seconds more."""

    def __init__(self, directory: Path, pause: float) -> None:
        super().__init__()
        self._steps = (directory / "steps.jsonl").open("a", buffering=1)
        self._pause = pause

    def on_train_batch_end(self, trainer: Trainer, _module: LightningModule, *_batch: Any) -> None:
        self._steps.write(json.dumps({"time": time.time(), "step": trainer.global_step, "pid": os.getpid()}) + "\n")
        time.sleep(self._pause)


def callbacks() -> list[Callback]:
    """Lightning's ``lightning.pytorch.callbacks_factory``."""
    return [Steps(Path(os.environ[DIRECTORY]), float(os.environ[PAUSE]))]
