# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Weights in a folder of torch.distributed.checkpoint: this trainer's, or those of any FSDP2 program."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
import torch.distributed.checkpoint as distributed_checkpoint
from torch.distributed.checkpoint import FileSystemReader
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.metadata import Metadata, TensorStorageMetadata

from gaudi3_scale.checkpoints.loading import DataPlanner
from gaudi3_scale.checkpoints.manifest import FileRecord
from gaudi3_scale.checkpoints.metadata import read_metadata
from gaudi3_scale.checkpoints.writer import METADATA
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.export.weights import TensorInfo, Weights
from gaudi3_scale.models.hugging_face import first_line


class DistributedWeights(Weights):
    """``files`` are what the folder has to have; nothing else is read."""

    def __init__(self, path: Path, files: Mapping[str, FileRecord]) -> None:
        self.where = str(path)
        self._path = path
        try:
            self._metadata = read_metadata((path / METADATA).read_bytes(), files)
        except (OSError, ValueError) as error:
            raise GaudiError(f"{path} cannot be exported: {METADATA}: {error}; export another checkpoint.") from error
        entries = self._metadata.state_dict_metadata
        self.tensors = {
            name: TensorInfo(about.properties.dtype, tuple(about.size))
            for name, about in entries.items()
            if isinstance(about, TensorStorageMetadata)
        }
        self._values = {name for name in entries if name not in self.tensors}
        for name, about in entries.items():
            if isinstance(about, TensorStorageMetadata):
                self._require_whole(name, about)

    def read(self, names: Iterable[str]) -> dict[str, torch.Tensor]:
        state: dict[str, Any] = {
            name: torch.empty(self.tensors[name].shape, dtype=self.tensors[name].dtype) for name in names
        }
        return self._load(state)

    def value(self, name: str) -> Any:
        """What is no tensor; None where there is none of that name."""
        return self._load({name: None})[name] if name in self._values else None

    def _load(self, state: dict[str, Any]) -> dict[str, Any]:
        reader = _KnownReader(self._path, self._metadata)
        try:
            with warnings.catch_warnings():
                # That nothing is shared out among ranks, which is meant.
                warnings.filterwarnings("ignore", message="torch.distributed is disabled")
                distributed_checkpoint.load(state, storage_reader=reader, planner=DataPlanner(), no_dist=True)
        except (CheckpointException, OSError, RuntimeError, ValueError, EOFError) as error:
            failures = getattr(error, "failures", {})
            cause = next(iter(failures.values()))[0] if failures else error
            raise GaudiError(f"{self.where} cannot be read: {first_line(cause)}; export another checkpoint.") from error
        return state

    def _require_whole(self, name: str, about: TensorStorageMetadata) -> None:
        """PyTorch leaves what no part of a tensor covers as it finds the memory."""
        parts = {(tuple(chunk.offsets), tuple(chunk.sizes)) for chunk in about.chunks}
        stored = {index.offset for index in self._metadata.storage_data if index.fqn == name} if parts else set()
        covered = sum(math.prod(sizes) for _offsets, sizes in parts)
        if covered != math.prod(about.size) or len(stored) != len(parts):
            raise GaudiError(
                f"{self.where} cannot be exported: {name} has {covered} of {math.prod(about.size)} numbers in its "
                "files; export another checkpoint."
            )


class _KnownReader(FileSystemReader):
    """With the metadata that was read as data, instead of PyTorch's own reading, which runs what a pickle says."""

    def __init__(self, path: Path, metadata: Metadata) -> None:
        super().__init__(path)
        self._metadata = metadata

    def read_metadata(self, *_: Any, **__: Any) -> Metadata:
        return self._metadata
