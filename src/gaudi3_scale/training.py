# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One run of a training job: data, model, Lightning's trainer and the checkpoint to go on from, put together."""

from __future__ import annotations

import argparse
import logging
import os
import warnings
import zlib
from pathlib import Path

import lightning.pytorch as lightning
import torch
from lightning.fabric.utilities.warnings import PossibleUserWarning

from gaudi3_scale.checkpoints import NodeCheckpoints
from gaudi3_scale.core.errors import GaudiError
from gaudi3_scale.devices import choose_device, compile_backend, local_device
from gaudi3_scale.json_lines import WriteLine, line_writer, no_line
from gaudi3_scale.language_model import ModelShape
from gaudi3_scale.language_model_task import LanguageModelTask, Schedule
from gaudi3_scale.loggers import choose_loggers, logged
from gaudi3_scale.observation import Observation, observe
from gaudi3_scale.ranks import Ranks, gather_numbers, join, node_names, ranks_from
from gaudi3_scale.resume import resume_from
from gaudi3_scale.run_facts import device_memory, peak_reader, run_facts
from gaudi3_scale.stop_at_once import StopAtOnce
from gaudi3_scale.strategies import trainer_parts
from gaudi3_scale.text_dataset import VALIDATION_EVERY, TextWindows, read_text


def run(options: argparse.Namespace) -> None:
    """Train from the newest checkpoint, or from step 0, to ``max_steps``. Collective: every rank calls it."""
    ranks = ranks_from(os.environ)
    kind = choose_device(options.device)
    text = read_text(options.text)
    windows = TextWindows(text, options.sequence_length)
    if len(windows) < VALIDATION_EVERY:
        raise GaudiError(
            f"--text: {len(text)} bytes give {len(windows)} windows of --sequence-length {options.sequence_length} and "
            f"{VALIDATION_EVERY} are needed; give more text or shorter windows."
        )
    names = choose_loggers(options.loggers, os.environ)
    write = line_writer(options.metrics) if ranks.rank == 0 else no_line
    device = local_device(kind, ranks.local_rank)
    join(ranks, device)
    _require_same_text(text, device)
    checkpoint, start = resume_from(options.resume, options.job_dir / "checkpoints", device)
    nodes, memory = node_names(ranks, device), device_memory(device)
    write(
        "start",
        step=start,
        max_steps=options.max_steps,
        resumed_from=start or None,
        world_size=ranks.world_size,
        nodes=ranks.nodes,
        device=kind,
        **run_facts(os.environ, nodes, memory),
    )
    if start >= options.max_steps:
        write("end", step=start, max_steps=options.max_steps, message="already at --max-steps: nothing to train")
        return
    with logged(write, names if ranks.rank == 0 else (), options.job_dir, start) as write_and_log:
        observation = observe(
            device,
            write_and_log,
            every=options.metrics_every,
            max_steps=options.max_steps,
            tokens_per_step=options.batch_size * options.sequence_length * options.accumulate * ranks.world_size,
            nodes=nodes,
            peak_bytes=peak_reader(memory),
        )
        _train(options, ranks, device, windows, checkpoint, start, write_and_log, observation)


def _train(
    options: argparse.Namespace,
    ranks: Ranks,
    device: torch.device,
    windows: TextWindows,
    checkpoint: Path | None,
    start: int,
    write: WriteLine,
    observation: Observation,
) -> None:
    _quieten_lightning()
    torch.manual_seed(options.seed)
    task = LanguageModelTask(
        ModelShape(options.layers, options.width, options.heads, options.sequence_length),
        Schedule(options.learning_rate, options.warmup_steps, options.max_steps),
        windows,
        options.batch_size,
        options.seed,
        ranks,
        checkpointing=options.checkpointing,
        workers=options.workers,
    )
    if options.compile:
        # In place: the names in a checkpoint stay those of the model that is not compiled.
        task.model.compile(backend=compile_backend(device.type))
    checkpoints = NodeCheckpoints(
        options.job_dir / "checkpoints", options.checkpoint_every, options.checkpoints_kept, ranks.local_rank, write
    )
    trainer = lightning.Trainer(
        **trainer_parts(device, options.precision or ("fp32" if device.type == "cpu" else "bf16"), ranks),
        max_epochs=-1,
        max_steps=min(options.max_steps, start + (options.stop_after_steps or options.max_steps)),
        accumulate_grad_batches=options.accumulate,
        gradient_clip_val=options.clip or None,
        **observation.trainer_parts(StopAtOnce(), checkpoints),
        default_root_dir=options.job_dir,
        limit_val_batches=options.validation_batches,
        num_sanity_val_steps=0,
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(task, ckpt_path=checkpoint, weights_only=True)
    step = trainer.global_step
    validation = trainer.validate(task, verbose=False)
    write(
        "end",
        step=step,
        max_steps=options.max_steps,
        first_loss=observation.metrics.first_loss,
        last_loss=observation.metrics.last_loss,
        validation_loss=validation[0].get("validation_loss") if validation else None,
        tokens_per_second=observation.metrics.rate(),
    )


def _require_same_text(text: torch.Tensor, device: torch.device) -> None:
    """Each node reads its own files: ranks that read different ones would train on a mixture without a word."""
    checksum = zlib.crc32(memoryview(text.numpy())) & 0x7FFFFFFF
    found = gather_numbers([checksum], 1, device)
    other = [rank for rank, numbers in enumerate(found) if numbers != found[0]]
    if other:
        raise GaudiError(
            f"--text: rank {', '.join(map(str, other))} read other bytes than rank 0; copy the same files everywhere."
        )


def _quieten_lightning() -> None:
    """Its banners, its advice on data loader workers, which slicing a tensor in memory does not need, and what newer
    releases of PyTorch tell its authors."""
    logging.getLogger("lightning.pytorch").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", category=PossibleUserWarning)
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"lightning\.")
