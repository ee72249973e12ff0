# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The ten commands, each with what it is upstream; and what one of them comes to."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

import torch
from safetensors.torch import load_file

from gaudi3_scale.fine_tune.__main__ import fine_tune

from . import upstream
from .upstream import LENGTH, SETTINGS

LORA = "--use_peft --lora_rank 4 --lora_alpha 16 --lora_dropout 0.05 --lora_target_modules q_proj v_proj"
CUT = f"--max_seq_length {LENGTH}"


@dataclass(frozen=True)
class Case:
    """``program`` is optimum-habana's; ``words`` are ours after the model and the settings of all."""

    program: str
    task: str
    model: str
    words: str
    alone: Callable[[Path, Path], dict[str, Any]]
    needs: tuple[str, ...] = ()


CASES = (
    Case(
        "run_clm.py",
        "text-generation",
        "llama",
        f"--train_file {{}}/texts.jsonl --block_size {LENGTH}",
        upstream.causal,
    ),
    Case("run_mlm.py", "fill-mask", "bert", f"--train_file {{}}/texts.jsonl --block_size {LENGTH}", upstream.masked),
    Case(
        "run_lora_clm.py",
        "text-generation",
        "llama",
        f"--train_file {{}}/texts.jsonl --block_size {LENGTH} {LORA}",
        upstream.lora,
        ("peft",),
    ),
    Case(
        "sft.py",
        "sft",
        "llama",
        f"--train_file {{}}/instructions.jsonl {CUT} --bf16 False {LORA}",
        upstream.instructed,
        ("peft", "trl"),
    ),
    Case(
        "dpo.py",
        "dpo",
        "llama",
        f"--train_file {{}}/preferences.jsonl {CUT} --bf16 False {LORA}",
        upstream.preferred,
        ("peft", "trl"),
    ),
    Case(
        "run_qa.py",
        "question-answering",
        "bert",
        f"--train_file {{}}/questions.jsonl {CUT} --doc_stride 8",
        upstream.answered,
    ),
    Case("run_glue.py", "text-classification", "bert", f"--train_file {{}}/pairs.jsonl {CUT}", upstream.classified),
    Case(
        "run_summarization.py",
        "summarization",
        "t5",
        f"--train_file {{}}/summaries.jsonl {CUT} --max_target_length {LENGTH}",
        upstream.summarized,
    ),
    Case(
        "run_translation.py",
        "translation",
        "t5",
        f"--train_file {{}}/translations.jsonl {CUT} --max_target_length {LENGTH} --source_lang en --target_lang ro",
        upstream.translated,
    ),
    Case("run_image_classification.py", "image-classification", "vit", "--train_dir {}/images", upstream.seen),
)


@dataclass(frozen=True)
class Outcome:
    ours: list[float]
    alone: list[float]
    same_weights: bool

    @property
    def apart(self) -> float:
        return max(abs(one - other) for one, other in zip(self.ours, self.alone, strict=True))


def play(case: Case, models: Path, data: Path, output: Path) -> Outcome:
    """Both trainings in this process, on one thread: sums then have one order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        # Bars and losses, of which the outcome has what matters.
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            ours = _ours(case, models, data, output / "ours")
            alone = upstream.train(case.alone(models, data), output / "alone")
    finally:
        torch.set_num_threads(threads)
    return Outcome(ours, alone, _weights(output / "ours", output / "alone"))


def command(case: Case, models: Path, data: Path, output: Path) -> list[str]:
    settings = [word for name, value in SETTINGS.items() for word in (f"--{name}", str(value))]
    words = ["--task", case.task, "--model_name_or_path", str(models / case.model), *case.words.format(data).split()]
    return [*words, "--output_dir", str(output), *settings]


def _ours(case: Case, models: Path, data: Path, output: Path) -> list[float]:
    # As one has them who comes from there.
    fine_tune(
        [*command(case, models, data, output), "--use_habana", "--use_lazy_mode", "--throughput_warmup_steps", "3"]
    )
    state = json.loads((output / "trainer_state.json").read_text(encoding="utf-8"))
    return [entry["loss"] for entry in state["log_history"] if "loss" in entry]


def _weights(ours: Path, alone: Path) -> bool:
    found = [{path.name: load_file(path) for path in place.glob("*.safetensors")} for place in (ours, alone)]
    one, other = found
    return one.keys() == other.keys() != set() and all(
        one[name].keys() == other[name].keys()
        and all(torch.equal(tensor, other[name][key]) for key, tensor in one[name].items())
        for name in one
    )
