# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The model of a task with its configuration and its tokenizer, as upstream loads them, and LoRA by PEFT."""

from __future__ import annotations

from typing import Any

import transformers

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.fine_tune.options import JobArguments
from gaudi3_scale.fine_tune.tasks import Task


def load_config(job: JobArguments) -> Any:
    return _load(transformers.AutoConfig.from_pretrained, job.config_name or job.model_name_or_path)


def load_tokenizer(job: JobArguments) -> Any:
    """Where it has no padding token, its end-of-sequence token pads."""
    name = job.tokenizer_name or job.model_name_or_path or job.config_name
    tokenizer = _load(transformers.AutoTokenizer.from_pretrained, name)
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_processor(job: JobArguments) -> Any:
    return _load(transformers.AutoImageProcessor.from_pretrained, job.model_name_or_path or job.config_name)


def load_model(task: Task, job: JobArguments, config: Any, tokenizer: Any = None) -> Any:
    """New weights where there is a configuration and no model."""
    kind = getattr(transformers, task.model)
    settings: dict[str, Any] = {"dtype": job.dtype}
    if job.attn_implementation:
        settings["attn_implementation"] = job.attn_implementation
    if tokenizer is not None and config.pad_token_id is None:
        config.pad_token_id = tokenizer.pad_token_id
    if job.model_name_or_path is None:
        return kind.from_config(config, **settings)
    settings["ignore_mismatched_sizes"] = job.ignore_mismatched_sizes
    model = _load(kind.from_pretrained, job.model_name_or_path, config=config, **settings)
    if tokenizer is not None and len(tokenizer) > model.get_input_embeddings().weight.shape[0]:
        model.resize_token_embeddings(len(tokenizer))
    return model


def lora_config(task: Task, job: JobArguments) -> Any:
    """None without ``--use_peft``."""
    if not job.use_peft:
        return None
    import peft

    return peft.LoraConfig(
        task_type=task.peft,
        r=job.lora_r,
        lora_alpha=job.lora_alpha,
        lora_dropout=job.lora_dropout,
        target_modules=job.lora_target_modules,
    )


def with_lora(model: Any, task: Task, job: JobArguments, recomputes: bool) -> Any:
    """The model with adapters, if it is to have them. ``recomputes``: activations are computed again."""
    config = lora_config(task, job)
    if config is None:
        return model
    import peft

    if recomputes:
        # Else no gradient reaches the adapters through what is computed again.
        model.enable_input_require_grads()
    try:
        return peft.get_peft_model(model, config)
    except ValueError as error:
        raise GaudiError(f"--use_peft: {error}") from error


def _load(load: Any, name: str | None, **settings: Any) -> Any:
    """A path that is not there is asked for on the hub, and the answer to that is long."""
    try:
        return load(name, **settings)
    except (OSError, ValueError, RuntimeError) as error:
        first = str(error).strip().splitlines()[0].rstrip(".")
        raise GaudiError(
            f"{name} cannot be loaded: {first}. Give a directory that every node has, or a name that the hub knows."
        ) from error
