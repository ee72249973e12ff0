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

    ``peft`` is the task as PEFT names it; ``instead`` is the program of optimum-habana that did this.
    """

    name: str
    model: str
    instead: str
    arguments: str = "TrainingArguments"
    library: str = "transformers"
    peft: str | None = None


TASKS = {
    task.name: task
    for task in (
        Task("text-generation", "AutoModelForCausalLM", "run_clm.py", peft="CAUSAL_LM"),
        Task("fill-mask", "AutoModelForMaskedLM", "run_mlm.py"),
        Task("text-classification", "AutoModelForSequenceClassification", "run_glue.py", peft="SEQ_CLS"),
        Task("token-classification", "AutoModelForTokenClassification", "run_ner.py", peft="TOKEN_CLS"),
        Task("question-answering", "AutoModelForQuestionAnswering", "run_qa.py", peft="QUESTION_ANS"),
        Task(
            "summarization",
            "AutoModelForSeq2SeqLM",
            "run_summarization.py",
            "Seq2SeqTrainingArguments",
            peft="SEQ_2_SEQ_LM",
        ),
        Task(
            "translation",
            "AutoModelForSeq2SeqLM",
            "run_translation.py",
            "Seq2SeqTrainingArguments",
            peft="SEQ_2_SEQ_LM",
        ),
        Task("image-classification", "AutoModelForImageClassification", "run_image_classification.py"),
        Task(SFT, "AutoModelForCausalLM", "sft.py", "SFTConfig", "trl", "CAUSAL_LM"),
        Task(DPO, "AutoModelForCausalLM", "dpo.py", "DPOConfig", "trl", "CAUSAL_LM"),
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
