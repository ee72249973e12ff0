# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The tasks, named as Hugging Face names its pipelines, and TRL's two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.switches import values_given

SFT, DPO = "sft", "dpo"


@dataclass(frozen=True)
class Task:
    """``model`` is the class of Transformers that loads the model, ``arguments`` the one that reads the switches.

    ``peft`` is the task as PEFT names it, where it has a name for it.
    """

    name: str
    model: str
    arguments: str = "TrainingArguments"
    library: str = "transformers"
    peft: str | None = None


TASKS = {
    task.name: task
    for task in (
        Task("text-generation", "AutoModelForCausalLM", peft="CAUSAL_LM"),
        Task("fill-mask", "AutoModelForMaskedLM"),
        Task("text-classification", "AutoModelForSequenceClassification", peft="SEQ_CLS"),
        Task("token-classification", "AutoModelForTokenClassification", peft="TOKEN_CLS"),
        Task("question-answering", "AutoModelForQuestionAnswering", peft="QUESTION_ANS"),
        Task(
            "summarization",
            "AutoModelForSeq2SeqLM",
            "Seq2SeqTrainingArguments",
            peft="SEQ_2_SEQ_LM",
        ),
        Task(
            "translation",
            "AutoModelForSeq2SeqLM",
            "Seq2SeqTrainingArguments",
            peft="SEQ_2_SEQ_LM",
        ),
        Task("image-classification", "AutoModelForImageClassification"),
        Task(SFT, "AutoModelForCausalLM", "SFTConfig", "trl", "CAUSAL_LM"),
        Task(DPO, "AutoModelForCausalLM", "DPOConfig", "trl", "CAUSAL_LM"),
    )
}
# What a user of optimum-habana looks for here, and finds elsewhere.
ELSEWHERE = {
    "text-to-image": "diffusion models are not trained or served here; use Hugging Face's Diffusers (docs/recipes.md)",
    "generation": "to generate text, serve the model: serve_model.yml (docs/serving.md)",
}


def task_of(words: Sequence[str]) -> Task:
    """The value of ``--task``. GaudiError where it is missing or unknown."""
    name = " ".join(values_given(words, "task") or ())
    if not name:
        raise GaudiError(f"--task is missing; give one of {', '.join(TASKS)}.")
    if name in ELSEWHERE:
        raise GaudiError(f"--task {name} is not one of {', '.join(TASKS)}: {ELSEWHERE[name]}.")
    if name not in TASKS:
        raise GaudiError(f"--task {name} is not one of {', '.join(TASKS)}; give one of them.")
    return TASKS[name]
