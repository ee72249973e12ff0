# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Writing checkpoints: every node its own full copy, whole or not at all."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import lightning.pytorch as lightning
import torch
from lightning.fabric.utilities import move_data_to_device
from lightning.pytorch.plugins.io import TorchCheckpointIO

from gaudi3_scale.checkpoint_files import available_steps, checkpoint_path, surplus
from gaudi3_scale.json_lines import WriteLine


class WholeFileIO(TorchCheckpointIO):
    """Writes beside the final name, to the disk, then renames: a file with the final name is always whole."""

    def save_checkpoint(
        self,
        checkpoint: dict[str, Any],
        path: str | Path,
        storage_options: object = None,  # noqa: ARG002, part of Lightning's interface
    ) -> None:
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f".{path.name}.{_writer()}{os.getpid()}")
        with unfinished.open("wb") as stream:
            # Tensors of a card could only be read where there is one.
            torch.save(move_data_to_device(checkpoint, torch.device("cpu")), stream)
            stream.flush()
            os.fsync(stream.fileno())
        unfinished.replace(path)


class NodeCheckpoints(lightning.Callback):
    """Saves every ``every`` steps and at the end, and keeps the newest ``keep`` in ``directory`` on each node."""

    def __init__(self, directory: Path, every: int, keep: int, local_rank: int, write: WriteLine) -> None:
        self._directory = directory
        self._every = every
        self._keep = keep
        self._local_rank = local_rank
        self._write = write
        self._saved = 0

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._saved = trainer.global_step
        if self._local_rank == 0 and self._directory.is_dir():
            for unfinished in self._directory.glob(f".*.{_writer()}*"):
                unfinished.unlink()

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: object) -> None:
        step = trainer.global_step
        if step != self._saved and (step % self._every == 0 or step == trainer.max_steps):
            self._save(trainer, step)

    def _save(self, trainer: lightning.Trainer, step: int) -> None:
        path = checkpoint_path(self._directory, step)
        trainer.save_checkpoint(path)
        self._saved = step
        if self._local_rank == 0:
            for old in surplus(available_steps(self._directory), self._keep):
                # On a shared file system another node may have been faster.
                checkpoint_path(self._directory, old).unlink(missing_ok=True)
        self._write("checkpoint", step=step, path=str(path))


def _writer() -> str:
    """Unfinished files of this node, by which it knows its own on a shared file system."""
    return f"{socket.gethostname()}-"
