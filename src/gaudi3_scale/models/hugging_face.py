# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Causal language models of Hugging Face from a local directory. Nothing is ever fetched, and no code of theirs run."""

from __future__ import annotations

import hashlib
import importlib.util
import os
from pathlib import Path

import torch
from torch import nn

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.tokenizers import FILE as TOKENIZER_FILE
from gaudi3_scale.data.tokenizers import tokenizer_file
from gaudi3_scale.data.training_data import TrainingData
from gaudi3_scale.extras import remedy

WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
_LOCAL = {"local_files_only": True, "trust_remote_code": False}


def local_model(
    directory: Path, from_scratch: bool, sequence_length: int, data: TrainingData, empty: bool = False
) -> nn.Module:
    """The model that ``directory``'s config.json describes, in fp32, with its weights or with new ones. For an
    ``empty`` one no weights are read.

    Raises GaudiError where the directory is no model's, a package is missing, or the data does not fit the model.
    """
    if not (directory / "config.json").is_file():
        raise GaudiError(
            f"--model {directory}: there is no config.json; give the local directory of a Hugging Face model."
        )
    if importlib.util.find_spec("transformers") is None:
        raise GaudiError(f"--model {directory}: the package transformers is not in this Python; {remedy('hf')}.")
    if not from_scratch:
        _require_weights(directory)
        _require_same_tokenizer(directory, data)
    os.environ["HF_HUB_OFFLINE"] = "1"
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    try:
        config = AutoConfig.from_pretrained(directory, **_LOCAL)
        _require_room(directory, config, sequence_length, data)
        # What is kept for generating text would be computed at every step for nothing.
        config.use_cache = False
        if from_scratch or empty:
            fresh: nn.Module = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
            return fresh
        model: nn.Module = AutoModelForCausalLM.from_pretrained(directory, config=config, dtype=torch.float32, **_LOCAL)
    except (ValueError, KeyError, OSError, RuntimeError) as error:
        raise GaudiError(
            f"--model {directory}: transformers cannot make a causal language model of it: {first_line(error)}; "
            "give another model, or another release of transformers."
        ) from error
    return model.train()


def described(model: nn.Module) -> str:
    """The architecture's name and a digest of the weights' names and shapes, which are equal where weights fit."""
    weights = sorted(f"{name} {tuple(weight.shape)}" for name, weight in model.named_parameters())
    return f"{type(model).__name__}-{hashlib.sha256(chr(10).join(weights).encode()).hexdigest()[:12]}"


def keep_only_inputs(model: nn.Module) -> None:
    """Activation checkpointing of each block, under the name that the release of transformers has for it."""
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})  # type: ignore[operator]


def _require_weights(directory: Path) -> None:
    if not any((directory / name).is_file() for name in WEIGHTS):
        raise GaudiError(
            f"--model {directory}: there are no weights ({WEIGHTS[0]}); copy them there, or give --from-scratch."
        )


def _require_same_tokenizer(directory: Path, data: TrainingData) -> None:
    """Weights know the tokens of their own tokenizer; another's numbers mean something else to them.

    Where nobody said whose they are, that is up to the operator, who was cautioned.
    """
    if not data.tokenizer:
        return
    wanted = hashlib.sha256(tokenizer_file(directory)).hexdigest() if (directory / TOKENIZER_FILE).is_file() else None
    if data.tokenizer != wanted and (wanted is not None or data.option == "--text"):
        raise GaudiError(
            f"{data.option}: its tokens are not those of {directory}, whose weights know no others; prepare the text "
            f"with gaudi3_scale data prepare --tokenizer {directory}, or give --from-scratch."
        )


def _require_room(directory: Path, config: object, sequence_length: int, data: TrainingData) -> None:
    vocabulary = getattr(config, "vocab_size", data.vocabulary)
    if data.vocabulary > vocabulary:
        raise GaudiError(
            f"{data.option}: there are {data.vocabulary} tokens and {directory} knows {vocabulary}; "
            "prepare the data with the model's tokenizer."
        )
    places = getattr(config, "max_position_embeddings", sequence_length)
    if sequence_length > places:
        raise GaudiError(
            f"--sequence-length {sequence_length}: {directory} has {places} places; give at most that many."
        )


def first_line(error: BaseException) -> str:
    """What it says, as a clause; its type where it says nothing."""
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
