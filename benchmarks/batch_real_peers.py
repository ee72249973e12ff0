# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Others' batch finders on a real model, as they are used: all trials in one process, here under a memory limit.

    python -m benchmarks.batch_real_peers FINDER KIND

Prints ``{"answer": 96, "trials": 7, "failed": 1, "search_seconds": 5.0}``. A trial is one call of the
finder to train; it makes STEPS steps.
"""

from __future__ import annotations

import gc
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any
from unittest import mock

import torch

from benchmarks.batch_real_models import KINDS, training
from gaudi3_scale.batch.out_of_memory import is_out_of_memory
from gaudi3_scale.batch.process_memory import limited_process

# Lightning's own default, and what all make; ours makes one to warm up and two more, and goes on from there.
STEPS = 3
MOST_SAMPLES = 1 << 20
ACCELERATE_START = 1024


@dataclass
class Found:
    answer: int = 0
    trials: int = 0
    failed: int = 0
    search_seconds: float = 0.0


Finder = Callable[[str, Found], int]


def accelerate() -> Finder:
    from accelerate.utils import find_executable_batch_size

    def search(kind: str, found: Found) -> int:
        @find_executable_batch_size(starting_batch_size=ACCELERATE_START)
        def train(batch_size: int) -> int:
            _train(kind, batch_size, found)
            return batch_size

        return int(train())

    return search


def seeds() -> Finder:
    return _bisection


def _bisection(kind: str, found: Found) -> int:
    """The seeds' search: halves 1 to 1024. Only out-of-memory counts; its further test refuses small sizes."""
    low, high, best = 1, 1024, 0
    while low <= high:
        middle = (low + high) // 2
        try:
            _train(kind, middle, found)
            best, low = middle, middle + 1
        except RuntimeError as error:
            if not is_out_of_memory(error):
                raise
            high = middle - 1
        gc.collect()
    return best


def _train(kind: str, batch_size: int, found: Found) -> None:
    found.trials += 1
    try:
        step = training(batch_size, torch.device("cpu"), kind)
        for _ in range(STEPS):
            step()
    except RuntimeError:
        found.failed += 1
        raise


def lightning(mode: str) -> Finder:
    import lightning.pytorch as pl
    from lightning.pytorch.tuner import Tuner
    from lightning.pytorch.tuner import batch_size_scaling as scaling

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)

    def search(kind: str, found: Found) -> int:
        trainer = pl.Trainer(
            accelerator="cpu",
            max_epochs=1,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
        )
        run = scaling._try_loop_run

        def counted(*arguments: Any) -> None:
            found.trials += 1
            try:
                run(*arguments)
            except RuntimeError:
                found.failed += 1
                raise

        with mock.patch.object(scaling, "_try_loop_run", counted):
            module = _module(pl, kind)
            return Tuner(trainer).scale_batch_size(module, mode=mode, steps_per_trial=STEPS) or 0

    return search


def _module(pl: Any, kind: str) -> Any:
    chosen = KINDS[kind]

    class Samples(torch.utils.data.Dataset[torch.Tensor]):
        """Whole batches at once, so that nobody pays for samples one by one."""

        def __len__(self) -> int:
            return MOST_SAMPLES

        def __getitems__(self, indices: list[int]) -> Any:
            return chosen.batch(len(indices))

    class Module(pl.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.batch_size = 2
            self.model = chosen.model()

        def training_step(self, batch: Any, _index: int) -> torch.Tensor:
            return chosen.loss(self.model, batch)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return chosen.optimizer(self.model)

        def train_dataloader(self) -> Any:
            return torch.utils.data.DataLoader(Samples(), batch_size=self.batch_size, collate_fn=lambda batch: batch)

    return Module()


# Each imports what it needs, and then is the search: what is imported belongs to no batch.
FINDERS: dict[str, Callable[[], Finder]] = {
    "Lightning, power": lambda: lightning("power"),
    "Lightning, binsearch": lambda: lightning("binsearch"),
    "accelerate from 1024": accelerate,
    "seeds' bisection": seeds,
}


def main() -> None:
    warnings.filterwarnings("ignore")
    name, kind = sys.argv[1:]
    search, found = FINDERS[name](), Found()
    with limited_process(KINDS[kind].memory_limit):
        started = time.perf_counter()
        found.answer = search(kind, found)
        found.search_seconds = time.perf_counter() - started
    print(json.dumps(asdict(found)))


if __name__ == "__main__":
    main()
