# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""From the rows of local files to what a task's trainer takes: samples, and what puts them together into batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Sequence

from transformers import DataCollatorForTokenClassification, DataCollatorWithPadding, default_data_collator

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune import classification, language, question_answering, sequences
from gaudi3_scale.fine_tune.labels import labels_in
from gaudi3_scale.fine_tune.options import JobArguments
from gaudi3_scale.fine_tune.records import Row, read_images, read_rows
from gaudi3_scale.fine_tune.tasks import Task

# Tokens of a sample without --max_seq_length; what optimum-habana's programs took.
LENGTHS = {"question-answering": 384, "summarization": 1024, "translation": 1024}
LENGTH, BLOCK = 128, 1024


@dataclass(frozen=True)
class Data:
    """The rows of both files; none for what is not done."""

    train: Sequence[Row]
    validation: Sequence[Row]

    @property
    def all(self) -> list[Row]:
        return [*self.train, *self.validation]


@dataclass(frozen=True)
class Prepared:
    """``samples`` makes a file's rows a data set; ``collator`` makes, of the model, what puts samples together.

    ``processor`` is the tokenizer or what prepares images: it is saved with the model.
    """

    processor: Any
    samples: Callable[[Sequence[Row]], Any]
    collator: Callable[[Any], Any]


def read_data(task: Task, job: JobArguments, trains: bool, evaluates: bool) -> Data:
    """GaudiError where a file that is needed is not given."""
    of_images = task.name == "image-classification"
    kind, read = ("dir", read_images) if of_images else ("file", read_rows)
    train, validation = (job.train_dir, job.validation_dir) if of_images else (job.train_file, job.validation_file)
    if trains and not train:
        raise GaudiError(f"--train_{kind} is missing; give it, or --do_eval alone.")
    if evaluates and not validation:
        raise GaudiError(f"--validation_{kind} is missing; give it, or leave out --do_eval and --eval_strategy.")
    return Data(
        read(f"--train_{kind}", train, job.max_train_samples) if trains and train else [],
        read(f"--validation_{kind}", validation, job.max_eval_samples) if evaluates and validation else [],
    )


def prepare(task: Task, job: JobArguments, config: Any, data: Data, processor: Any) -> Prepared:
    """``config`` gets the number and the names of the labels."""
    if task.name in ("text-generation", "fill-mask"):
        return _of_language(task, job, config, processor)
    if task.name.endswith("-classification"):
        return _of_classification(task, job, config, data, processor)
    size = min(job.max_seq_length or LENGTHS[task.name], processor.model_max_length)
    if task.name == "question-answering":
        return Prepared(
            processor,
            lambda rows: question_answering.windows(rows, processor, job, size),
            lambda _model: DataCollatorWithPadding(processor),
        )
    pairs = sequences.summaries if task.name == "summarization" else sequences.translations
    return Prepared(
        processor,
        lambda rows: sequences.samples(pairs(rows, job), processor, job, size),
        lambda model: sequences.collator(processor, model, job),
    )


def _of_language(task: Task, job: JobArguments, config: Any, tokenizer: Any) -> Prepared:
    wanted = job.block_size or job.max_seq_length or BLOCK
    size = min(wanted, getattr(config, "max_position_embeddings", None) or wanted, tokenizer.model_max_length)

    def samples(rows: Sequence[Row]) -> list[Row]:
        blocks = language.blocks(rows, tokenizer, job, size)
        return language.causal(blocks) if task.name == "text-generation" else blocks

    masked = task.name == "fill-mask"
    collator = language.masking(tokenizer, job.mlm_probability) if masked else default_data_collator
    return Prepared(tokenizer, samples, lambda _model: collator)


def _of_classification(task: Task, job: JobArguments, config: Any, data: Data, processor: Any) -> Prepared:
    images, tokens = task.name == "image-classification", task.name == "token-classification"
    name = "label" if images else classification.label_column(data.all, job)
    values = (row[name] for row in data.train or data.validation)
    labels = labels_in((one for tags in values for one in tags) if tokens else values, config)
    labels.told_to(config)
    if images:
        from gaudi3_scale.fine_tune.images import Images

        return Prepared(processor, lambda rows: Images(rows, processor, labels), lambda _model: default_data_collator)
    size = min(job.max_seq_length or LENGTH, processor.model_max_length)
    make = classification.tokens if tokens else classification.texts
    collator = DataCollatorForTokenClassification(processor) if tokens else DataCollatorWithPadding(processor)
    return Prepared(processor, lambda rows: make(rows, processor, job, labels, size), lambda _model: collator)
