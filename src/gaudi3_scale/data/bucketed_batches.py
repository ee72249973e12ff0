# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Batches of samples of one bucket, the same bucket on all ranks at a time, from any step on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterator, Sequence

import numpy as np
import torch
from torch.utils.data import Sampler

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.length_buckets import LengthBuckets


@dataclass(frozen=True)
class Share:
    """Which of the ranks this one is."""

    rank: int = 0
    world_size: int = 1


class BucketedBatches(Sampler[list[int]]):
    """This rank's batches, one pass over the samples after another without end: ``DataLoader(batch_sampler=...)``.

    All ranks have samples of one bucket in a step, so that none waits for a longer one. A pass leaves out what does not
    fill a batch on every rank, other samples each time. ``step`` is how many batches each rank has had: a training that
    resumes with as many ranks goes on with the next ones. Raises GaudiError where no bucket fills a batch.
    """

    def __init__(
        self,
        lengths: Sequence[int] | np.ndarray,
        buckets: LengthBuckets,
        batch_size: int,
        seed: int = 0,
        share: Share | None = None,
        *,
        step: int = 0,
    ) -> None:
        self._bucket_of = buckets.number_of(np.asarray(lengths, np.int64))
        self._batch_size = batch_size
        self._seed = seed
        self._share = share or Share()
        self._step = step
        self._together = batch_size * self._share.world_size
        sizes = np.bincount(self._bucket_of, minlength=len(buckets.bounds))
        self.steps = int((sizes // self._together).sum())
        """Of a pass."""
        if not self.steps:
            raise GaudiError(
                f"batch_size {batch_size} times {self._share.world_size} ranks is more than the {sizes.max()} samples "
                "of the largest bucket; make the batch smaller, or the buckets fewer."
            )

    def __iter__(self) -> Iterator[list[int]]:
        number, step = divmod(self._step, self.steps)
        while True:
            mine = self._pass(number)
            for row in mine[step:]:
                yield row.tolist()
            number, step = number + 1, 0

    def _pass(self, number: int) -> np.ndarray:
        """[steps, batch_size]: this rank's samples of a whole pass; its order depends on the seed and its number."""
        random = np.random.default_rng((self._seed, number))
        order = random.permutation(len(self._bucket_of))
        bucket = self._bucket_of[order]
        steps = []
        for which in range(int(bucket.max()) + 1):
            members = order[bucket == which]
            whole = len(members) // self._together
            steps.append(members[: whole * self._together].reshape(whole, self._share.world_size, self._batch_size))
        mine: np.ndarray = np.concatenate(steps)[random.permutation(self.steps), self._share.rank]
        return mine


@dataclass(frozen=True)
class PadToBucket:
    """Sequences of tokens as int64 [batch, bound], filled with ``value``: ``DataLoader(collate_fn=...)``."""

    buckets: LengthBuckets
    value: int = 0

    def __call__(self, samples: Sequence[Sequence[int] | torch.Tensor]) -> torch.Tensor:
        longest = max(len(sample) for sample in samples)
        bound = self.buckets.bounds[int(self.buckets.number_of(np.array([longest]))[0])]
        batch = torch.full((len(samples), bound), self.value, dtype=torch.int64)
        for row, sample in zip(batch, samples):
            cut = torch.as_tensor(sample[:bound], dtype=torch.int64)
            row[: len(cut)] = cut
        return batch
