# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The same trainings by upstream's trainers alone, as one writes them by hand: nothing of ours is imported."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import transformers
from PIL import Image

from .small_parts import read

LENGTH = 32
SETTINGS: dict[str, Any] = {
    "max_steps": 50,
    "per_device_train_batch_size": 4,
    "learning_rate": 3e-3,
    "logging_steps": 1,
    "save_strategy": "no",
    "seed": 7,
    "use_cpu": True,
    "disable_tqdm": True,
}


def train(parts: dict[str, Any], output: Path) -> list[float]:
    """The losses of all steps; the weights are in ``output`` afterwards."""
    kind = parts.pop("trainer", transformers.Trainer)
    arguments = parts.pop("arguments", transformers.TrainingArguments)
    extra = parts.pop("settings", {})
    trainer = kind(args=arguments(output_dir=str(output), **SETTINGS, **extra), **parts)
    trainer.train()
    trainer.save_model()
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]


def _loaded(kind: Any, path: Path, **settings: Any) -> tuple[Any, Any]:
    transformers.set_seed(SETTINGS["seed"])
    return transformers.AutoTokenizer.from_pretrained(path), kind.from_pretrained(path, dtype="float32", **settings)


def _adapted(model: Any, task: str) -> Any:
    import peft

    return peft.get_peft_model(model, _lora(task))


def _lora(task: str) -> Any:
    import peft

    return peft.LoraConfig(task_type=task, r=4, lora_alpha=16, lora_dropout=0.05, target_modules=["q_proj", "v_proj"])


def _blocks(data: Path, tokenizer: Any) -> list[list[int]]:
    encoded = tokenizer([row["text"] for row in read(data / "texts.jsonl")])["input_ids"]
    tokens = list(chain.from_iterable(encoded))
    return [tokens[start : start + LENGTH] for start in range(0, len(tokens) // LENGTH * LENGTH, LENGTH)]


def causal(models: Path, data: Path) -> dict[str, Any]:
    tokenizer, model = _loaded(transformers.AutoModelForCausalLM, models / "llama")
    samples = [{"input_ids": block, "labels": block} for block in _blocks(data, tokenizer)]
    return {"model": model, "train_dataset": samples, "data_collator": transformers.default_data_collator}


def lora(models: Path, data: Path) -> dict[str, Any]:
    parts = causal(models, data)
    return {**parts, "model": _adapted(parts["model"], "CAUSAL_LM")}


def masked(models: Path, data: Path) -> dict[str, Any]:
    tokenizer, model = _loaded(transformers.AutoModelForMaskedLM, models / "bert")
    samples = [{"input_ids": block} for block in _blocks(data, tokenizer)]
    return {
        "model": model,
        "train_dataset": samples,
        "data_collator": transformers.DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm_probability=0.15),
    }


def classified(models: Path, data: Path) -> dict[str, Any]:
    kind, names = transformers.AutoModelForSequenceClassification, ("no", "yes")
    tokenizer, model = _loaded(kind, models / "bert", num_labels=2)
    samples = [
        {
            **tokenizer(row["sentence1"], row["sentence2"], max_length=LENGTH, truncation=True, padding="max_length"),
            "label": names.index(row["label"]),
        }
        for row in read(data / "pairs.jsonl")
    ]
    return {"model": model, "train_dataset": samples, "data_collator": transformers.default_data_collator}


def answered(models: Path, data: Path) -> dict[str, Any]:
    tokenizer, model = _loaded(transformers.AutoModelForQuestionAnswering, models / "bert")
    samples = []
    for row in read(data / "questions.jsonl"):
        encoded = tokenizer(
            row["question"], row["context"], max_length=LENGTH, truncation="only_second", padding="max_length"
        )
        begin, word = row["answers"]["answer_start"][0], row["answers"]["text"][0]
        first = encoded.char_to_token(begin, sequence_index=1)
        last = encoded.char_to_token(begin + len(word) - 1, sequence_index=1)
        samples.append({**encoded, "start_positions": first, "end_positions": last})
    return {"model": model, "train_dataset": samples, "data_collator": transformers.default_data_collator}


def _seq2seq(models: Path, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    tokenizer, model = _loaded(transformers.AutoModelForSeq2SeqLM, models / "t5")
    samples = []
    for source, target in pairs:
        encoded = tokenizer(source, max_length=LENGTH, truncation=True, padding="max_length")
        labels = tokenizer(target, max_length=LENGTH, truncation=True, padding="max_length")["input_ids"]
        samples.append({**encoded, "labels": [-100 if token == tokenizer.pad_token_id else token for token in labels]})
    return {
        "model": model,
        "train_dataset": samples,
        "data_collator": transformers.DataCollatorForSeq2Seq(tokenizer, model=model),
        "trainer": transformers.Seq2SeqTrainer,
        "arguments": transformers.Seq2SeqTrainingArguments,
    }


def summarized(models: Path, data: Path) -> dict[str, Any]:
    return _seq2seq(models, [(row["text"], row["summary"]) for row in read(data / "summaries.jsonl")])


def translated(models: Path, data: Path) -> dict[str, Any]:
    rows = [row["translation"] for row in read(data / "translations.jsonl")]
    return _seq2seq(models, [(row["en"], row["ro"]) for row in rows])


def seen(models: Path, data: Path) -> dict[str, Any]:
    transformers.set_seed(SETTINGS["seed"])
    processor = transformers.AutoImageProcessor.from_pretrained(models / "vit")
    kind = transformers.AutoModelForImageClassification
    model = kind.from_pretrained(models / "vit", dtype="float32", num_labels=2)
    samples = [
        {"pixel_values": processor(Image.open(path), return_tensors="pt")["pixel_values"][0], "label": number}
        for number, label in enumerate(("dark", "light"))
        for path in sorted((data / "images" / label).iterdir())
    ]
    return {"model": model, "train_dataset": samples, "data_collator": transformers.default_data_collator}


def _by_trl(models: Path, rows: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    import datasets
    import trl

    tokenizer, model = _loaded(transformers.AutoModelForCausalLM, models / "llama")
    return {
        "model": model,
        "train_dataset": datasets.Dataset.from_list(rows),
        "processing_class": tokenizer,
        "peft_config": _lora("CAUSAL_LM"),
        "trainer": getattr(trl, f"{kind}Trainer"),
        "arguments": getattr(trl, f"{kind}Config"),
        "settings": {"max_length": LENGTH, "pad_to_multiple_of": LENGTH, "bf16": False},
    }


def instructed(models: Path, data: Path) -> dict[str, Any]:
    return _by_trl(models, read(data / "instructions.jsonl"), "SFT")


def preferred(models: Path, data: Path) -> dict[str, Any]:
    return _by_trl(models, read(data / "preferences.jsonl"), "DPO")
