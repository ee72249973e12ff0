# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A profile of the trainer's own steps, into the job's directory."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Sequence

import lightning.pytorch as lightning
import torch

from gaudi3_scale.core._profile.directory import FOLDER
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.profiler.profiler import GaudiProfiler
from gaudi3_scale.profiler.training_options import (
    ACTIVE_OF_TRACE,
    USUAL_WAIT,
    WARM_UP,
    WARMUP_OF_TRACE,
    require_room_for_traces,
    steps_of,
    traced_ranks,
)
from gaudi3_scale.ranks import Ranks


class ProfiledSteps(lightning.Callback):
    """Tells a profiler of each step; to stand behind the other callbacks."""

    def __init__(self, profiler: GaudiProfiler, write: WriteLine, directory: Path) -> None:
        self._profiler = profiler
        self._write = write
        self._directory = directory
        self._step = 0
        self._told = False

    def on_train_start(self, trainer: lightning.Trainer, *_: object) -> None:
        self._step = trainer.global_step
        self._profiler.__enter__()

    def on_train_batch_end(self, trainer: lightning.Trainer, *_: object) -> None:
        if self._told or trainer.global_step == self._step:
            return
        self._step = trainer.global_step
        self._profiler.step()
        if self._profiler.done:
            self._told = True
            self._write("profile", step=self._step, directory=str(self._directory))

    def on_train_end(self, *_: object) -> None:
        self._profiler.__exit__(None, None, None)

    def on_exception(self, *_: object) -> None:
        """Fewer steps than asked for may still tell something."""
        self._profiler.__exit__(None, None, None)


def profile_callbacks(
    options: argparse.Namespace, ranks: Ranks, device: torch.device, start: int, write: WriteLine, nodes: Sequence[str]
) -> list[lightning.Callback]:
    """None without ``--profile``, and where a resumed run begins behind its window: a restart must not end a job."""
    if not options.profile:
        return []
    traced = traced_ranks(options, ranks.world_size)
    directory = Path(options.job_dir, FOLDER)
    require_room_for_traces(directory, len(traced))
    first = options.profile_first_step or start + USUAL_WAIT + 1
    steps = steps_of(options)
    if first <= start + WARM_UP or first + steps - 1 > options.max_steps:
        message = f"steps {first} to {first + steps - 1} are not profiled: this run goes from {start} on"
        write("warning", step=start, message=message)
        return []
    profiler = GaudiProfiler(
        ("cpu", device.type) if ranks.rank in traced else (),
        schedule_wait=first - start - 1,
        schedule_clocked=steps - WARMUP_OF_TRACE - ACTIVE_OF_TRACE,
        schedule_warmup=WARMUP_OF_TRACE,
        schedule_active=ACTIVE_OF_TRACE,
        directory=directory,
        links=options.profile_links,
        first_step=start + 1,
        device=device,
        node=nodes[ranks.rank // ranks.local_world_size],
    )
    return [ProfiledSteps(profiler, write, directory)]
