# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The model that a job trains: the built-in one or a local one of Hugging Face, and how its activations are kept."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import asdict, dataclass
from typing import Any

from torch import nn

from gaudi3_scale.data.training_data import TrainingData
from gaudi3_scale.models.hugging_face import described, keep_only_inputs, local_model
from gaudi3_scale.models.language_model import LanguageModel, ModelShape
from gaudi3_scale.models.sharding import weights_without_contents

CHECKPOINTED_ABOVE = 1_000_000_000
"""From so many parameters on ``--checkpointing auto`` is on: weights, gradients and AdamW's state in fp32 take 16 bytes
each, which leaves activations little room beside them."""


@dataclass(frozen=True)
class TrainingModel:
    """``shape`` has what a checkpoint's weights fit to, by the names of the options."""

    module: nn.Module
    shape: dict[str, Any]
    parameters: int
    checkpointing: bool


def build_model(options: argparse.Namespace, data: TrainingData, empty: bool = False) -> TrainingModel:
    """Random weights come from PyTorch's generator as it is now. An ``empty`` model has the shapes of its weights, and
    no memory for them. Raises GaudiError for what cannot be built."""
    with weights_without_contents() if empty else contextlib.nullcontext():
        module, shape = _built(options, data, empty)
    parameters = sum(parameter.numel() for parameter in module.parameters())
    checkpointing = keeps_only_inputs(options.checkpointing, parameters)
    if checkpointing:
        _keep_only_inputs(module)
    return TrainingModel(module, shape, parameters, checkpointing)


def _built(options: argparse.Namespace, data: TrainingData, empty: bool) -> tuple[nn.Module, dict[str, Any]]:
    """And what a checkpoint's weights fit to."""
    if options.model is not None:
        module = local_model(options.model, options.from_scratch, options.sequence_length, data, empty)
        return module, {"model": described(module)}
    built_in = ModelShape(options.layers, options.width, options.heads, options.sequence_length, data.vocabulary)
    return LanguageModel(built_in), {"model": "built-in", **asdict(built_in)}


def keeps_only_inputs(choice: str, parameters: int) -> bool:
    """What ``auto``, ``on`` or ``off`` means for a model of so many parameters."""
    return choice == "on" or (choice == "auto" and parameters >= CHECKPOINTED_ABOVE)


def _keep_only_inputs(module: nn.Module) -> None:
    """Of each block; the rest is computed once more on the way back."""
    if isinstance(module, LanguageModel):
        module.checkpointing = True
    else:
        keep_only_inputs(module)
