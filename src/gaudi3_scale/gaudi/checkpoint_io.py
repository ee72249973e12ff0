# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of your own Lightning code on Gaudi: one file, whole or not at all. The trainer's are in
``gaudi3_scale.checkpoints``."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.utilities import move_data_to_device
from lightning.pytorch.plugins.io import TorchCheckpointIO


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


def _writer() -> str:
    """Unfinished files of this node, by which it knows its own on a shared file system."""
    return f"{socket.gethostname()}-"
