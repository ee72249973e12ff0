# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a training job: data, model, Lightning's trainer and the checkpoint to go on from, put together."""

from __future__ import annotations

import argparse
import logging
import os
import warnings
from dataclasses import dataclass, replace
from typing import Any, Mapping, Sequence

import lightning.pytorch as lightning
import torch
from lightning.fabric.utilities.warnings import PossibleUserWarning

from gaudi3_scale.checkpoints.callback import Checkpoints
from gaudi3_scale.checkpoints.job import checkpoints_of_job
from gaudi3_scale.data.training_data import TrainingData, open_data, require_same_data
from gaudi3_scale.devices import choose_device, compile_backend, local_device
from gaudi3_scale.estimate.before_start import require_room
from gaudi3_scale.json_lines import WriteLine, line_writer, no_line
from gaudi3_scale.metrics.loggers import choose_loggers, logged
from gaudi3_scale.metrics.observation import Observation, observe
from gaudi3_scale.metrics.peak_memory import device_memory, memory_use
from gaudi3_scale.metrics.run_facts import run_facts
from gaudi3_scale.models.sharding import FSDP2
from gaudi3_scale.models.training_model import TrainingModel, build_model
from gaudi3_scale.profiler.training import profile_callbacks
from gaudi3_scale.ranks import Ranks, join, node_names, ranks_from
from gaudi3_scale.trainer.global_batch import passes_of_step, require_one_pass
from gaudi3_scale.trainer.language_model_task import LanguageModelTask, Reading
from gaudi3_scale.trainer.measured_workers import measured_workers
from gaudi3_scale.trainer.pinned_memory import measured_pinning
from gaudi3_scale.trainer.planned_work import precision_of, work_of_step
from gaudi3_scale.trainer.schedules import Schedule
from gaudi3_scale.trainer.seeded_batches import SeededBatches
from gaudi3_scale.trainer.strategies import DataParallel, trainer_parts
from gaudi3_scale.trainer.validation import Plan, Validation


@dataclass(frozen=True)
class _Run:
    """What one run is made of on this rank. ``passes`` are those of a step; ``write`` writes on rank 0 only."""

    ranks: Ranks
    device: torch.device
    passes: int
    data: TrainingData
    model: TrainingModel
    checkpoints: Checkpoints
    write: WriteLine


def run(options: argparse.Namespace, callbacks: Sequence[lightning.Callback] = ()) -> None:
    """Train from the newest checkpoint, or from step 0, to ``max_steps``. Collective: every rank calls it.

    ``callbacks`` are called after the trainer's own.
    """
    # Before anything is loaded: a logger that is not there is a mistake in the options.
    loggers = choose_loggers(options.loggers, os.environ)
    made = _made(options)
    nodes, memory = node_names(made.ranks, made.device), device_memory(made.device)
    limit = None if memory is None else memory.limit
    _tell_start(options, made, {"hosts": nodes, **run_facts(os.environ), "memory_limit_bytes": limit})
    if made.data.caution:
        made.write("warning", message=made.data.caution)
    start = made.checkpoints.start
    if start >= options.max_steps:
        made.write("end", step=start, max_steps=options.max_steps, message="already at --max-steps: nothing to train")
    else:
        with logged(made.write, loggers if made.ranks.rank == 0 else (), options.job_dir, start) as write:
            observation = observe(
                made.device,
                write,
                every=options.metrics_every,
                max_steps=options.max_steps,
                work=work_of_step(options, made.device, made.ranks, made.passes, made.data.vocabulary),
                nodes=nodes,
                memory=memory_use(memory),
            )
            profiled = profile_callbacks(options, made.ranks, made.device, start, write, nodes)
            _train(options, replace(made, write=write), observation, [*callbacks, *profiled])
    made.checkpoints.finish()


def _made(options: argparse.Namespace) -> _Run:
    """Everything but the trainer; the ranks have joined each other and agree on the data and the checkpoint."""
    ranks = ranks_from(os.environ)
    kind = choose_device(options.device)
    passes = passes_of_step(options.global_batch_size, options.batch_size, ranks.world_size, options.accumulate)
    require_one_pass(options.static_graph, passes)
    data = open_data(options.text, options.data, options.sequence_length)
    _quieten_libraries()
    device = local_device(kind, ranks.local_rank)
    require_room(options, data.vocabulary, ranks, device)
    torch.manual_seed(options.seed)
    # Shared out it is built on one rank alone: a host has no room for as many whole models as it has cards.
    model = build_model(options, data, empty=options.sharding == FSDP2 and ranks.rank > 0)
    write = line_writer(options.metrics) if ranks.rank == 0 else no_line
    join(ranks, device)
    require_same_data(data, device)
    return _Run(ranks, device, passes, data, model, checkpoints_of_job(options, ranks, write), write)


def _tell_start(options: argparse.Namespace, made: _Run, facts: Mapping[str, Any]) -> None:
    made.write(
        "start",
        step=made.checkpoints.start,
        max_steps=options.max_steps,
        resumed_from=made.checkpoints.start or None,
        resumed_copy=made.checkpoints.resumed_copy,
        world_size=made.ranks.world_size,
        nodes=made.ranks.nodes,
        device=made.device.type,
        parameters=made.model.parameters,
        sharding=options.sharding,
        checkpointing=made.model.checkpointing,
        batch_size=options.batch_size,
        accumulate=made.passes,
        global_batch_size=options.batch_size * made.passes * made.ranks.world_size,
        schedule=options.schedule,
        precision=precision_of(options, made.device),
        compiled=options.compile,
        clip=options.clip,
        gradient_compression=options.gradient_compression,
        workers="auto" if options.workers is None else options.workers,
        checkpoint_every=options.checkpoint_every,
        memory_every=options.memory_every,
        **facts,
    )


def _task(options: argparse.Namespace, made: _Run) -> LanguageModelTask:
    schedule = Schedule(options.learning_rate, options.warmup_steps, options.max_steps, options.schedule)
    workers = (lambda task: measured_workers(task, made.write)) if options.workers is None else options.workers
    reading = Reading(
        made.data.windows,
        options.batch_size,
        options.seed,
        made.ranks,
        workers,
        lambda batch, device: measured_pinning(batch, device, made.write),
    )
    origin = {"tokenizer": made.data.tokenizer, "directory": str(options.model.resolve()) if options.model else ""}
    sharded = options.sharding == FSDP2
    task = LanguageModelTask(made.model.module, made.model.shape, schedule, reading, sharded, origin)
    if options.compile:
        # In place: the names in a checkpoint stay those of the model that is not compiled.
        task.model.compile(backend=compile_backend(made.device.type))
    return task


def _train(
    options: argparse.Namespace, made: _Run, observation: Observation, callbacks: Sequence[lightning.Callback]
) -> None:
    task, checkpoints = _task(options, made), made.checkpoints
    plan = Plan(options.validate_every, options.validation_batches, options.patience, options.max_steps)
    validation = Validation(plan, made.write)
    trainer = lightning.Trainer(
        **trainer_parts(
            made.device,
            precision_of(options, made.device),
            made.ranks,
            options.sharding,
            DataParallel(options.gradient_compression, options.static_graph),
        ),
        max_epochs=-1,
        max_steps=min(options.max_steps, checkpoints.start + (options.stop_after_steps or options.max_steps)),
        accumulate_grad_batches=made.passes,
        gradient_clip_val=options.clip or None,
        **observation.trainer_parts(SeededBatches(options.seed, made.ranks.rank), validation, checkpoints, *callbacks),
        default_root_dir=options.job_dir,
        limit_val_batches=options.validation_batches,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(task)
    step = trainer.global_step
    if checkpoints.stopped:
        made.write("stopped", step=step, max_steps=options.max_steps, reason="SIGTERM")
        return
    found = trainer.validate(task, verbose=False)
    made.write(
        "end",
        step=step,
        max_steps=options.max_steps,
        first_loss=observation.metrics.first_loss,
        last_loss=observation.metrics.last_loss,
        validation_loss=found[0].get("validation_loss") if found else None,
        tokens_per_second=observation.metrics.rate(),
        **({"reason": validation.reason} if validation.reason else {}),
    )


def _quieten_libraries() -> None:
    """Lightning's banners and its advice on data loader workers, which the option --workers is for, what newer releases
    of PyTorch tell its authors, and FSDP2's on changing logits in place, which the loss does not."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", category=PossibleUserWarning)
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"lightning\.")
    warnings.filterwarnings("ignore", message=r"FSDP2-wrapped module .* returned a view tensor")
