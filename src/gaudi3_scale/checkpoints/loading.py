# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Reading a checkpoint with torch.distributed.checkpoint, and nothing in it is ever run."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import torch
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint._traverse import set_element
from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner
from torch.distributed.checkpoint.metadata import Metadata
from torch.distributed.checkpoint.planner import ReadItem

from gaudi3_scale.checkpoints.files import manifest_of
from gaudi3_scale.checkpoints.metadata import read_metadata
from gaudi3_scale.checkpoints.writer import METADATA


class DataReader(FileSystemReader):
    """A FileSystemReader that reads ``.metadata`` without pickle, once, and none but the checkpoint's own files."""

    def __init__(self, path: Path) -> None:
        """Raises ValueError where it is not as the trainer writes it, OSError where it cannot be read."""
        super().__init__(path)
        try:
            self._metadata = read_metadata((path / METADATA).read_bytes(), manifest_of(path).files)
        except ValueError as error:
            raise ValueError(f"{METADATA}: {error}") from error

    def read_metadata(self, *_: Any, **__: Any) -> Metadata:
        return self._metadata


class DataPlanner(DefaultLoadPlanner):
    """PyTorch's own hands every value that is no tensor to pickle."""

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        path = self.mappings[read_item.dest_index.fqn]
        set_element(self.original_state_dict, path, torch.load(value, map_location="cpu", weights_only=True))
