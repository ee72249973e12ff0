# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""``--workers auto``: as many as keep up with the model that is about to be trained, measured on all ranks at once."""

from __future__ import annotations

import os
import time

import torch
import torch.distributed

from gaudi3_scale.data.loader_workers import candidates_for, loading_rate, smallest_that_keeps_up
from gaudi3_scale.devices import synchronize
from gaudi3_scale.json_lines import WriteLine
from gaudi3_scale.models.language_model import next_token_loss
from gaudi3_scale.trainer.language_model_task import LanguageModelTask

REPEATS = 3
FORWARDS_OF_PASS = 3
"""The way back computes twice what the way forth does (Kaplan et al. 2020). Communication and the optimizer come on
top, so that the batches of a real step may come more slowly than is asked for here."""


def measured_workers(task: LanguageModelTask, write: WriteLine) -> int:
    """The same number on all ranks, and a metric line about it. Collective: every rank calls it, with its model on its
    device."""
    reading = task.reading
    seconds = _least(FORWARDS_OF_PASS * _forward_seconds(task), task.device)

    def rate_of(workers: int) -> float:
        rate = loading_rate(task.training_windows, reading.batch_size, workers, place=reading.ranks.rank)
        return _least(rate, task.device)

    processors = own_processors(reading.ranks.local_world_size)
    choice = smallest_that_keeps_up(rate_of, candidates_for(processors), seconds)
    write(
        "workers",
        workers=choice.workers,
        needed_per_second=choice.needed,
        batches_per_second={str(workers): rate for workers, rate in choice.rates.items()},
        keeps_up=choice.keeps_up,
    )
    return choice.workers


def own_processors(local_world_size: int) -> int:
    """How many processors this rank has for its workers."""
    own = os.sched_getaffinity(0)
    # A rank that was bound may use less than who started it, and has that for itself; else all ranks use the same.
    is_bound = own < os.sched_getaffinity(os.getppid())
    return len(own) if is_bound else len(own) // local_world_size


@torch.no_grad()
def _forward_seconds(task: LanguageModelTask) -> float:
    """Of one pass, without what is random in a model: the training's own random numbers stay as they were."""
    windows = task.training_windows[[number % len(task.training_windows) for number in range(task.reading.batch_size)]]
    batch = windows.to(task.device)
    seconds = []
    task.model.eval()
    for _turn in range(1 + REPEATS):
        synchronize(task.device)
        start = time.perf_counter()
        with task.trainer.precision_plugin.forward_context():
            next_token_loss(task.model, batch)
        synchronize(task.device)
        seconds.append(time.perf_counter() - start)
    task.model.train()
    return min(seconds[1:])


def _least(value: float, device: torch.device) -> float:
    """Of all ranks."""
    least = torch.tensor(value, dtype=torch.float32, device=device)
    torch.distributed.all_reduce(least, torch.distributed.ReduceOp.MIN)
    return float(least)
