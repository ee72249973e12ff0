# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The batch size of a model that is at hand in Python, by the same search as the probe of the nodes.

finder = AdaptiveBatchFinder(model, target_hpu_utilization=0.95, precision="bf16-mixed", batch=example)
batch_size = finder.find_optimal_batch_size()
"""

from __future__ import annotations

import os
import pickle
import sys
import tempfile
import warnings
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Callable, Iterable

import torch
from torch import nn

from gaudi3_scale.batch.in_place import InPlaceTrials
from gaudi3_scale.batch.trial_forks import Trials
from gaudi3_scale.batch.workload import TrainedModel
from gaudi3_scale.core._batch.bounds import Bounds
from gaudi3_scale.core._batch.choice import LARGEST, THROUGHPUT, next_for
from gaudi3_scale.core._batch.memory_model import Prior
from gaudi3_scale.core._batch.search import OK, OUT_OF_MEMORY, Search, Trial, largest_batch
from gaudi3_scale.core._batch.trial import Workload
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.devices import choose_device


class AdaptiveBatchFinder:
    """The largest batch that trains within ``target_hpu_utilization`` of the device's memory, or the fastest.

    ``batch`` is an example of a batch, of any size, or a function that makes one of a given size; a LightningModule
    without it gives the first of its ``train_dataloader``. ``loss`` and ``optimizer``: see TrainedModel. On the CPU
    ``memory_limit`` bytes stand for the device's memory. ``objective``: ``largest``, or ``throughput`` for the smallest
    size within 2 % of the best.

    Trials run in other processes where the model can be pickled, and leave it alone. Where it cannot, or is on a Gaudi
    already, they run here: weights, gradients and random state are put back, but after an out-of-memory a Gaudi may
    be of no more use to this process.
    """

    def __init__(
        self,
        model: nn.Module,
        target_hpu_utilization: float = 0.95,
        precision: str = "bf16-mixed",
        *,
        batch: Any = None,
        loss: Callable[[nn.Module, Any], torch.Tensor] | None = None,
        optimizer: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer] | None = None,
        device: str = "auto",
        minimum: int = 1,
        maximum: int = 8192,
        multiple_of: int = 1,
        objective: str = LARGEST,
        steps: int = 3,
        timeout: float = 900,
        memory_limit: int | None = None,
        reported: Callable[[Trial], None] | None = None,
    ) -> None:
        if objective not in (LARGEST, THROUGHPUT):
            raise GaudiError(f"objective {objective}: choose {LARGEST} or {THROUGHPUT}.")
        self._trained = TrainedModel(model, first_batch(model) if batch is None else batch, precision, loss, optimizer)
        self._device = choose_device(device)
        if self._device == "cpu" and memory_limit is None:
            raise GaudiError("On the CPU only the node's memory limits the batch; give memory_limit, in bytes.")
        self._memory_limit = memory_limit if self._device == "cpu" else None
        self._bounds = Bounds(
            maximum=maximum,
            multiple_of=multiple_of,
            minimum=minimum,
            limit_bytes=self._memory_limit,
            target_hpu_utilization=target_hpu_utilization,
        )
        self._bounds.check()
        self._objective, self._steps, self._timeout = objective, steps, timeout
        self._reported = reported or _print

    def find_optimal_batch_size(self) -> int:
        """Raises GaudiError where there is none, with the reason and what would help."""
        return self.find().batch_size

    def find(self) -> Search:
        """The answer with how sure it is, and all trials."""
        here = self._why_here()
        data = None if here else _pickled(self._trained)
        if data is None:
            reason = here or "the model, its batch, loss or optimizer cannot be pickled, or are defined in __main__"
            warnings.warn(f"The trials run in this process, since {reason}.", stacklevel=2)
            return self._search(InPlaceTrials(self._trained, self._workload({})))
        with tempfile.TemporaryDirectory(prefix="gaudi3-scale-batch-") as directory:
            file = Path(directory, "model.pickle")
            file.write_bytes(data)
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
            workload = self._workload({"file": str(file)})
            imports = sorted({type(module).__module__ for module in self._trained.model.modules()})
            with Trials(
                workload,
                python=sys.executable,
                timeout=self._timeout,
                environment=environment,
                imports=imports,
            ) as attempt:
                return self._search(attempt, attempt.estimate())

    def _search(self, attempt: Callable[[int], Trial], prior: Prior | None = None) -> Search:
        bounds = replace(self._bounds, prior=prior)
        return largest_batch(attempt, bounds, reported=self._reported, decide=partial(next_for, self._objective))

    def _why_here(self) -> str:
        tensors = [*self._trained.model.parameters(), *self._trained.model.buffers()]
        if any(tensor.device.type == "hpu" for tensor in tensors):
            return "this process has the card already; move the model to it only afterwards"
        return ""

    def _workload(self, options: dict[str, object]) -> Workload:
        return Workload(
            "gaudi3_scale.batch.workload:pickled",
            options,
            steps=self._steps,
            device=self._device,
            memory_limit=self._memory_limit,
        )


def first_batch(source: Any) -> Any:
    """Of a model's or a data module's training data, which takes nothing from the random state of the training."""
    if not hasattr(source, "train_dataloader"):
        raise GaudiError("batch is missing: give an example batch, or a function that makes one of a given size.")
    with torch.random.fork_rng(devices=[]):
        return next(iter(source.train_dataloader()))


def _pickled(trained: TrainedModel) -> bytes | None:
    """None where another process could not read it: what is defined in the main script is in no module there."""
    try:
        data = pickle.dumps(trained)
    # Whatever an object's own way to be pickled may raise.
    except Exception:
        return None
    return None if b"__main__" in data else data


def _print(trial: Trial) -> None:
    """The progress that is shown where nobody else was asked to."""
    peak = f", {trial.peak_memory_bytes / (1 << 30):.2f} GiB" if trial.peak_memory_bytes else ""
    seconds = f", {trial.step_seconds:.3f} s a step" if trial.step_seconds else ""
    outcome = {OK: "ran", OUT_OF_MEMORY: "ran out of memory"}.get(trial.outcome, trial.outcome)
    sys.stderr.write(f"batch size {trial.batch_size}: {outcome}{peak}{seconds}\n")
