# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a step of a run is going to do, from its options: the samples, and the operations that its model asks for."""

from __future__ import annotations

import argparse
import os

import torch

from gaudi3_scale.devices import card_label
from gaudi3_scale.estimate.model_state import model_of_shapes
from gaudi3_scale.metrics.bridge_counters import counters_file
from gaudi3_scale.metrics.model_flops import flops_of_window
from gaudi3_scale.metrics.step_work import StepWork
from gaudi3_scale.metrics.utilization import Utilization, peak_of_card
from gaudi3_scale.ranks import Ranks


def precision_of(options: argparse.Namespace, device: torch.device) -> str:
    return str(options.precision or ("fp32" if device.type == "cpu" else "bf16"))


def work_of_step(
    options: argparse.Namespace, device: torch.device, ranks: Ranks, passes: int, vocabulary: int
) -> StepWork:
    """Of all ranks; only the first one has lines in which it tells of the card and the bridge."""
    samples = options.batch_size * passes
    together = samples * ranks.world_size
    tokens = together * options.sequence_length
    if ranks.rank != 0:
        return StepWork(tokens, together)
    utilization = _utilization(options, device, samples, vocabulary)
    return StepWork(tokens, together, utilization, counters_file(os.environ))


def _utilization(
    options: argparse.Namespace, device: torch.device, samples: int, vocabulary: int
) -> Utilization | None:
    """None where no peak is known: on the CPU, on a card without a row, or where the shapes do not tell."""
    peak = peak_of_card(card_label(device), precision_of(options, device), options.peak_tflops)
    if peak is None:
        return None
    flops = flops_of_window(lambda: model_of_shapes(options, vocabulary).module, options.sequence_length)
    return None if flops is None else Utilization(float(samples * flops), peak)
