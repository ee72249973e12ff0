# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One checkpoint of torch.distributed.checkpoint, in place only when every rank's files are there."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Callable

import torch
from torch.distributed.checkpoint import FileSystemWriter
from torch.distributed.checkpoint.metadata import Metadata
from torch.futures import Future

from gaudi3_scale.checkpoints.files import (
    Check,
    Retention,
    checkpoint_path,
    put_in_place,
    record_of,
    remove_surplus,
    unfenced,
    unfinished_path,
    write_manifest,
)
from gaudi3_scale.checkpoints.manifest import Manifest

LOG = logging.getLogger(__name__)
METADATA = ".metadata"
"""What FileSystemWriter calls the file that says where each tensor lies."""


class WholeCheckpointWriter(FileSystemWriter):
    """Writes step after step into ``directory``: give :attr:`step` a new value, then save to :attr:`unfinished`.

    Each rank works out the checksums of its own files, at the same time as the others. The first rank of the process
    group gets them with what FileSystemWriter tells it anyway, writes the manifest, renames the folder, and removes
    what ``retention`` does not keep: nothing older goes before the new one is whole. Before either ``check`` is asked.

    Copies in host memory are pinned and used again where there is CUDA; elsewhere they are made anew for each save.
    """

    def __init__(
        self,
        directory: Path,
        run: int,
        retention: Retention,
        spared: Callable[[], int | None],
        check: Check = unfenced,
    ) -> None:
        super().__init__(directory, cache_staged_state_dict=torch.cuda.is_available())
        self._directory = directory
        self._run = run
        self._retention = retention
        self._spared = spared
        self.check = check
        self.step = 0
        self.bytes = 0
        """Of the newest one in this directory, as its first rank knows it."""

    @property
    def unfinished(self) -> Path:
        return unfinished_path(self._directory, self.step, self._run)

    @property
    def final(self) -> Path:
        return checkpoint_path(self._directory, self.step)

    def write_data(self, plan: Any, planner: Any) -> Future[list[Any]]:
        written = super().write_data(plan, planner)
        written.wait()
        results = written.value()
        names = {result.storage_data.relative_path for result in results}
        # Carried as one more result to finish(), which takes it out again.
        with_records: Future[list[Any]] = Future()
        with_records.set_result([*results, {name: record_of(self.unfinished / name) for name in names}])
        return with_records

    def finish(self, metadata: Metadata, results: list[list[Any]]) -> None:
        manifest = self.described(metadata, results)
        self.put_in_place(manifest)
        self.bytes = manifest.bytes
        self.remove_older()

    def described(self, metadata: Metadata, results: list[list[Any]]) -> Manifest:
        """What was written, when PyTorch's own description of it is written too."""
        files = {name: record for of_rank in results for name, record in of_rank[-1].items()}
        super().finish(metadata, [of_rank[:-1] for of_rank in results])
        files[METADATA] = record_of(self.unfinished / METADATA)
        return Manifest(self.step, self._run, files)

    def put_in_place(self, manifest: Manifest) -> None:
        write_manifest(self.unfinished, manifest)
        put_in_place(self.unfinished, self.final, self.check)

    def remove_older(self) -> None:
        try:
            remove_surplus(self._directory, self._retention, self._spared(), self.check)
        except OSError as error:
            LOG.warning("gaudi3_scale: %s: %s; older checkpoints were not removed.", error.filename, error.strerror)
