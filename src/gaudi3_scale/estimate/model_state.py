# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a model's weights, gradients and optimizer state take, from the shapes of its parameters."""

from __future__ import annotations

import argparse
from typing import Iterable

import numpy as np
import torch
from torch import nn

from gaudi3_scale.data.token_windows import TokenWindows
from gaudi3_scale.data.tokenizers import BYTES
from gaudi3_scale.data.training_data import TrainingData
from gaudi3_scale.estimate.memory import ModelState
from gaudi3_scale.models.sharding import blocks
from gaudi3_scale.models.training_model import TrainingModel, build_model

# AdamW has two of each trained weight.
MOMENTS = 2


def state_of(model: nn.Module) -> ModelState:
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    by_block = [_bytes(block.parameters()) for block in blocks(model)]
    weights = _bytes(model.parameters())
    return ModelState(
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        weights=weights + sum(buffer.nbytes for buffer in model.buffers()),
        gradients=_bytes(trained),
        optimizer=MOMENTS * _bytes(trained),
        largest_block=max(by_block, default=0),
        outside_blocks=weights - sum(by_block),
    )


def model_of_shapes(options: argparse.Namespace, vocabulary: int) -> TrainingModel:
    """What the trainer would build of these options, with no weights read; raises GaudiError as it would."""
    without_weights = argparse.Namespace(**{**vars(options), "from_scratch": True})
    data = TrainingData("--data", TokenWindows(np.zeros(0, "u1"), options.sequence_length), BYTES, vocabulary, ())
    return build_model(without_weights, data)


def on_no_device(options: argparse.Namespace, vocabulary: int) -> TrainingModel:
    """The same on PyTorch's device without memory: at once, also where the model is larger than this host."""
    with torch.device("meta"):
        return model_of_shapes(options, vocabulary)


def _bytes(parameters: Iterable[torch.Tensor]) -> int:
    return sum(parameter.nbytes for parameter in parameters)
