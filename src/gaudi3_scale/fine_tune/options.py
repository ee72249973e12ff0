# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The program's own switches, beside those of Transformers' or TRL's arguments: named as Hugging Face's examples do."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, List, NoReturn, Optional, Sequence

import transformers

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.switches import values_given
from gaudi3_scale.fine_tune.tasks import TASKS, Task


def _told(text: str, *aliases: str) -> dict[str, Any]:
    """What transformers' parser is told of an option."""
    return {"help": text, "aliases": list(aliases)}


# HfArgumentParser reads these types while it runs: with `|` it would need Python 3.10's own.
@dataclass
class JobArguments:
    task: str = field(default="", metadata=_told(f"What to fine-tune for: {', '.join(TASKS)}."))

    model_name_or_path: Optional[str] = field(
        default=None, metadata=_told("The model: a directory, or a name on Hugging Face's hub.")
    )
    config_name: Optional[str] = field(
        default=None, metadata=_told("A configuration instead of a model: the weights begin at random.")
    )
    tokenizer_name: Optional[str] = field(
        default=None, metadata=_told("Where the tokenizer is, if not with the model.", "--tokenizer_name_or_path")
    )
    dtype: str = field(
        default="float32",
        metadata=_told("What the weights are loaded as, or `auto`: as they were saved.", "--torch_dtype"),
    )
    attn_implementation: Optional[str] = field(
        default=None, metadata=_told("`eager` or `sdpa`; without it the model's own choice.")
    )
    ignore_mismatched_sizes: bool = field(
        default=False, metadata=_told("A head whose size does not fit begins at random.")
    )

    train_file: Optional[str] = field(default=None, metadata=_told("JSON lines, CSV, or for text alone a text file."))
    validation_file: Optional[str] = field(default=None, metadata=_told("The same, for --do_eval and --eval_strategy."))
    train_dir: Optional[str] = field(default=None, metadata=_told("Images, in one directory per label."))
    validation_dir: Optional[str] = field(default=None, metadata=_told("The same, for --do_eval and --eval_strategy."))
    max_train_samples: Optional[int] = field(default=None, metadata=_told("Only so many of the first samples."))
    max_eval_samples: Optional[int] = field(default=None, metadata=_told("Only so many of the first samples."))

    text_column: Optional[str] = field(
        default=None, metadata=_told("The column of the text; the usual names are found without it.")
    )
    label_column: Optional[str] = field(
        default=None, metadata=_told("The column of the label, or of the tokens' labels.", "--label_column_name")
    )
    summary_column: Optional[str] = field(default=None, metadata=_told("The column of the summary."))
    source_lang: Optional[str] = field(default=None, metadata=_told("The key of the text in `translation`."))
    target_lang: Optional[str] = field(default=None, metadata=_told("The key of its translation."))
    source_prefix: str = field(default="", metadata=_told("What stands before each text, as T5 wants it."))

    block_size: Optional[int] = field(
        default=None, metadata=_told("Tokens of a sample in language modeling, else --max_seq_length, else 1024.")
    )
    max_seq_length: Optional[int] = field(
        default=None,
        metadata=_told(
            "Tokens of a sample elsewhere: 128 in a classification, 384 in question answering, else 1024.",
            "--max_source_length",
        ),
    )
    max_target_length: int = field(default=128, metadata=_told("Tokens of a summary or a translation."))
    doc_stride: int = field(default=128, metadata=_told("Tokens that two windows over one context share."))
    pad_to_max_length: bool = field(
        default=True, metadata=_told("All samples get that length, so that a card compiles one graph.")
    )
    ignore_pad_token_for_loss: bool = field(
        default=True, metadata=_told("Padding of the target does not count in the loss.")
    )
    mlm_probability: float = field(default=0.15, metadata=_told("The share of tokens that is masked."))

    use_peft: bool = field(default=False, metadata=_told("Train LoRA adapters instead of the model's own weights."))
    lora_r: int = field(default=16, metadata=_told("Rank of the adapters.", "--lora_rank"))
    lora_alpha: int = field(default=32, metadata=_told("Their scale."))
    lora_dropout: float = field(default=0.05, metadata=_told("Their dropout."))
    lora_target_modules: Optional[List[str]] = field(
        default=None, metadata={"help": "Which modules get them; without it PEFT's choice for the model."}
    )


class _Parser(transformers.HfArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise GaudiError(f"{message[:1].upper()}{message[1:]}; {self.prog} --task … --help shows the options.")


def parse_options(task: Task, words: Sequence[str]) -> tuple[JobArguments, Any]:
    """The program's own options, and upstream's arguments for the task. GaudiError for a wrong one."""
    # transformers' own types want one class, or several of one type.
    classes: Any = (JobArguments, _arguments_class(task))
    parser = _Parser(classes, prog="gaudi3_scale.fine_tune", allow_abbrev=False)
    try:
        job, training = parser.parse_args_into_dataclasses(list(_with_output(words)), look_for_args_file=False)
    except (ValueError, ImportError) as error:
        raise GaudiError(f"--task {task.name}: {error}") from error
    _check(task, job)
    if task.library == "trl" and job.max_seq_length:
        training.max_length = job.max_seq_length
    # Upstream sets --do_eval by itself where it evaluates during the training.
    if values_given(words, "do_train") is None and values_given(words, "do_eval") is None:
        training.do_train = True
    return job, training


def _with_output(words: Sequence[str]) -> Sequence[str]:
    """In a job, checkpoints are written where the job keeps them."""
    directory = os.environ.get("GAUDI3_SCALE_JOB_DIR")
    return (
        words if values_given(words, "output_dir") is not None or not directory else [*words, "--output_dir", directory]
    )


def _arguments_class(task: Task) -> Any:
    if task.library == "trl":
        import trl

        return getattr(trl, task.arguments)
    return getattr(transformers, task.arguments)


def _check(task: Task, job: JobArguments) -> None:
    if not (job.model_name_or_path or job.config_name):
        raise GaudiError("--model_name_or_path is missing; give the model's directory or its name on the hub.")
    if job.use_peft and task.name == "image-classification":
        raise GaudiError("--use_peft would leave the new head of --task image-classification untrained; leave it out.")
    if job.use_peft and task.peft is None and not job.lora_target_modules:
        raise GaudiError(
            f"--use_peft: PEFT has no choice of modules for --task {task.name}; give --lora_target_modules."
        )
