# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Probe trials in the process that asks, on its own model, which is left as it was."""

from __future__ import annotations

import gc
import json
from contextlib import contextmanager
from functools import partial
from typing import Iterator

import torch
from torch import nn

from gaudi3_scale.batch.trial import run_trial
from gaudi3_scale.batch.workload import TrainedModel, training
from gaudi3_scale.core._batch.search import Trial
from gaudi3_scale.core._batch.trial import Workload, judge, request
from gaudi3_scale.devices import hpu_module


class InPlaceTrials:
    """A trial that hangs or dies takes this process with it."""

    def __init__(self, trained: TrainedModel, workload: Workload) -> None:
        self._trained = trained
        self._workload = workload

    def __call__(self, batch_size: int) -> Trial:
        wanted = request(self._workload, batch_size, "")
        with unchanged(self._trained.model):
            result = run_trial(wanted, partial(training, self._trained))
        # What failed is held by the error's frames, and by what refers to itself.
        gc.collect()
        if self._workload.device == "cuda":
            torch.cuda.empty_cache()
        return judge(batch_size, 0, 0, json.dumps(result), "")


@contextmanager
def unchanged(model: nn.Module) -> Iterator[None]:
    """Put weights, buffers, gradients, device, mode and random state back at the end."""
    tensors = [*model.parameters(), *model.buffers()]
    devices = {tensor.device.type for tensor in tensors}
    kept = [(tensor.device, tensor.detach().to("cpu", copy=True)) for tensor in tensors]
    gradients = [(parameter, parameter.grad) for parameter in model.parameters()]
    modes = [(module, module.training) for module in model.modules()]
    for parameter in model.parameters():
        parameter.grad = None
    put_back = [partial(torch.set_rng_state, torch.get_rng_state())]
    if "cuda" in devices or torch.cuda.is_initialized():
        put_back.append(partial(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
    if "hpu" in devices:
        put_back.append(partial(hpu_module().set_rng_state, hpu_module().get_rng_state()))
    try:
        yield
    finally:
        for parameter in model.parameters():
            parameter.grad = None
        with torch.no_grad():
            # A buffer that was moved to another device is another tensor now.
            for tensor, (device, values) in zip([*model.parameters(), *model.buffers()], kept):
                tensor.data = tensor.data.to(device)
                tensor.copy_(values)
        for parameter, gradient in gradients:
            parameter.grad = gradient
        for module, mode in modes:
            module.training = mode
        for state in put_back:
            state()
