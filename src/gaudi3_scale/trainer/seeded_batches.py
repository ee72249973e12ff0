# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Random numbers that a resumed training draws again as if it had never stopped. Never run on a card."""

from __future__ import annotations

import hashlib
import random

import lightning.pytorch as lightning
import numpy
import torch

from gaudi3_scale.devices import habana


class SeededBatches(lightning.Callback):
    """Seeds PyTorch, Python and NumPy before each batch from the job's seed, the step, the batch and the rank alone.

    So nothing of it belongs into a checkpoint: dropout after step 100 is the same for a rank that was there before and
    for one on a spare node that took its place.
    """

    def __init__(self, seed: int, rank: int) -> None:
        self._seed = seed
        self._rank = rank

    def on_train_batch_start(
        self, trainer: lightning.Trainer, module: lightning.LightningModule, _batch: object, index: int
    ) -> None:
        place = (self._seed, trainer.global_step, index % trainer.accumulate_grad_batches, self._rank)
        seed = int.from_bytes(hashlib.blake2b(repr(place).encode(), digest_size=4).digest(), "big")
        torch.manual_seed(seed)
        random.seed(seed)
        numpy.random.seed(seed)
        if module.device.type == "hpu":
            # The bridge keeps generators of its own; optimum-habana's set_seed does the same.
            habana("hpu.random").manual_seed_all(seed)
