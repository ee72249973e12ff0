# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""One fine-tuning: data, model and upstream's trainer, from the newest checkpoint on."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import transformers
from transformers.trainer_utils import get_last_checkpoint

from gaudi3_scale.fine_tune.model import load_config, load_model, load_processor, load_tokenizer, lora_config, with_lora
from gaudi3_scale.fine_tune.options import JobArguments
from gaudi3_scale.fine_tune.samples import Data, prepare, read_data
from gaudi3_scale.fine_tune.tasks import DPO, Task
from gaudi3_scale.reporting.transformers_callback import TransformersCallback


def run(task: Task, job: JobArguments, training: Any) -> None:
    evaluates = training.do_eval or training.eval_strategy != "no"
    data = read_data(task, job, training.do_train, evaluates)
    # Before the model: a new head and adapters begin at random.
    transformers.set_seed(training.seed)
    make = _trl_trainer if task.library == "trl" else _trainer
    trainer = make(task, job, training, data)
    if training.do_train:
        result = trainer.train(resume_from_checkpoint=_checkpoint(training))
        trainer.save_model()
        trainer.save_state()
        trainer.log_metrics("train", result.metrics)
        trainer.save_metrics("train", result.metrics)
    if training.do_eval:
        metrics = trainer.evaluate()
        trainer.log_metrics("eval", metrics)
        trainer.save_metrics("eval", metrics)


def _checkpoint(training: Any) -> str | None:
    """The one that ``--resume_from_checkpoint`` names, else the newest; none where that is False."""
    named = training.resume_from_checkpoint
    if named and str(named).lower() not in ("true", "false"):
        return str(named)
    if str(named).lower() == "false" or not Path(training.output_dir).is_dir():
        return None
    newest = get_last_checkpoint(training.output_dir)
    if newest is None:
        return None
    if os.environ.get("LOCAL_RANK", "0") == "0":
        sys.stdout.write(f"Resuming from {newest}\n")
    return str(newest)


def _trainer(task: Task, job: JobArguments, training: Any, data: Data) -> Any:
    config = load_config(job)
    images = task.name == "image-classification"
    processor = load_processor(job) if images else load_tokenizer(job)
    prepared = prepare(task, job, config, data, processor)
    # Before the weights, which are large: data that does not fit is told at once.
    train, validation = (prepared.samples(rows) if rows else None for rows in (data.train, data.validation))
    model = load_model(task, job, config, None if images else processor)
    model = with_lora(model, task, job, training.gradient_checkpointing)
    kind = transformers.Seq2SeqTrainer if task.arguments.startswith("Seq2Seq") else transformers.Trainer
    return kind(
        model=model,
        args=training,
        train_dataset=train,
        eval_dataset=validation,
        data_collator=prepared.collator(model),
        processing_class=processor,
        callbacks=[TransformersCallback()],
    )


def _trl_trainer(task: Task, job: JobArguments, training: Any, data: Data) -> Any:
    """TRL prepares the data itself: ``text``, ``messages``, or ``prompt`` with ``completion`` or both answers."""
    import datasets
    import trl

    train, validation = (datasets.Dataset.from_list(rows) if rows else None for rows in (data.train, data.validation))
    tokenizer = load_tokenizer(job)
    if job.text_column and task.name != DPO:
        training.dataset_text_field = job.text_column
    if job.pad_to_max_length and training.pad_to_multiple_of is None:
        # A multiple of the length at which it cuts is that length.
        training.pad_to_multiple_of = training.max_length
    kind = getattr(trl, "DPOTrainer" if task.name == DPO else "SFTTrainer")
    return kind(
        model=load_model(task, job, load_config(job), tokenizer),
        args=training,
        train_dataset=train,
        eval_dataset=validation,
        processing_class=tokenizer,
        peft_config=lora_config(task, job),
        callbacks=[TransformersCallback()],
    )
