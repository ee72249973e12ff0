# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints written in the background of a training, one at a time."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Mapping

import torch
import torch.distributed
import torch.distributed.checkpoint as distributed_checkpoint
from torch.distributed.checkpoint.api import CheckpointException

from gaudi3_scale.checkpoints.place import Place
from gaudi3_scale.checkpoints.state import share_of
from gaudi3_scale.checkpoints.writer import WholeCheckpointWriter
from gaudi3_scale.core._errors import GaudiError


@dataclass(frozen=True)
class Saved:
    """How a save ended: ``failure`` says why there is no checkpoint, or None. ``bytes`` are known to the first rank of
    a directory. The training waited ``blocked_seconds`` for it, of the ``seconds`` that it took."""

    step: int
    path: Path
    bytes: int
    seconds: float
    blocked_seconds: float
    failure: str | None = None


class BackgroundSaver:
    """Every rank of a place calls the same methods at the same steps."""

    def __init__(self, place: Place, writer: WholeCheckpointWriter) -> None:
        self._place = place
        self._writer = writer
        self._future: Future[Any] | None = None
        self._began = 0.0
        self._ended = 0.0
        self._blocked = 0.0

    def begin(self, step: int, state: Mapping[str, Any]) -> None:
        """Copy this rank's share of ``state`` to the host and write it in the background. None may be under way."""
        self._began = time.perf_counter()
        self._writer.step = step
        self._writer.bytes = 0
        group = self._place.group
        share = share_of(state, torch.distributed.get_rank(group), torch.distributed.get_world_size(group))
        self._future = self._begun(share)
        self._future.add_done_callback(self._done)
        self._blocked = time.perf_counter() - self._began

    def _begun(self, share: dict[str, Any]) -> Future[Any]:
        # Of the two kinds that its type has, it is this one unless the other is asked for.
        future: Any = distributed_checkpoint.async_save(
            share,
            checkpoint_id=self._writer.unfinished,
            storage_writer=self._writer,
            process_group=self._place.group,
        )
        return future  # type: ignore[no-any-return]

    def ended(self, wait: bool = False) -> Saved | None:
        """How the save ended, told once; None while it is under way, unless ``wait``.

        Raises what the writer's check raises where this rank may write no checkpoint any more.
        """
        if self._future is None or not (wait or self._future.done()):
            return None
        waited = time.perf_counter()
        error = self._future.exception()
        self._blocked += time.perf_counter() - waited
        self._future = None
        if error and self._place.leads:
            # No rank writes any more, and what is there is of no use.
            shutil.rmtree(self._writer.unfinished, ignore_errors=True)
        if error:
            # Whatever it failed with: a later generation of the ranks removes the files of this one while it writes.
            self._writer.check()
        took = (self._ended if self._ended > self._began else time.perf_counter()) - self._began
        return Saved(
            self._writer.step,
            self._writer.final,
            self._writer.bytes,
            # A small save may be done before the call that began it returns.
            max(took, self._blocked),
            self._blocked,
            _reason(error, self._place.group) if error else None,
        )

    def _done(self, _future: Future[Any]) -> None:
        """In the thread that saved."""
        self._ended = time.perf_counter()


def _reason(error: BaseException, group: torch.distributed.ProcessGroup) -> str:
    """The innermost cause, and whose it is."""
    if isinstance(error, CheckpointException) and error.failures:
        number, (cause, _traceback) = next(iter(error.failures.items()))
        return f"rank {torch.distributed.get_global_rank(group, number)}: {_said(cause)}"
    if isinstance(error, GaudiError):
        return str(error)
    return _said(error)


def _said(error: BaseException) -> str:
    """In one line."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__
