# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Tokens in memory or in a mapped file: windows of them, which are held out, and the order in which ranks read them.

Nothing here grows with the number of tokens, but for the array of a text that was read into memory.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Iterator, Sequence

import numpy as np
import torch
from torch.utils.data import Dataset, Sampler

from gaudi3_scale.data.bucket_tokens import BucketTokens
from gaudi3_scale.data.shuffle import shuffled

VALIDATION_EVERY = 20
"""One window in so many is held out for validation."""
_AHEAD = 1024
"""So many places of the stream are worked out at once."""


class MappedTokens:
    """The tokens of a file, of which only what is read comes into memory, and may leave it again."""

    def __init__(self, file: Path, dtype: str, count: int) -> None:
        self._arguments = (file, dtype, count)

    def __len__(self) -> int:
        return self._arguments[-1]

    def __getitem__(self, span: slice) -> np.ndarray:
        return self._map[span]

    @cached_property
    def _map(self) -> np.ndarray:
        file, dtype, count = self._arguments
        return np.memmap(file, dtype, "r", shape=(count,))

    def __reduce__(self) -> tuple[Any, ...]:
        """A data loader's process maps the file itself: a pickled map would be all that is in it."""
        return MappedTokens, self._arguments


class TokenWindows(Dataset[torch.Tensor]):
    """Windows of ``length`` + 1 tokens: a model reads all but the last and predicts all but the first.

    Window i begins at token i * length, so that every token but the first is predicted once. An item is a whole batch:
    several windows by their numbers, as int64 [batch, length + 1].
    """

    def __init__(self, tokens: np.ndarray | MappedTokens | BucketTokens, length: int) -> None:
        self.tokens = tokens
        self._length = length

    def __len__(self) -> int:
        return max(0, (len(self.tokens) - 1) // self._length)

    def __getitem__(self, windows: Sequence[int]) -> torch.Tensor:
        starts = [window * self._length for window in windows]
        spans = [slice(start, start + self._length + 1) for start in starts]
        if isinstance(self.tokens, BucketTokens):
            read = self.tokens.several(spans)
        else:
            read = [self.tokens[span] for span in spans]
        return torch.from_numpy(np.stack(read).astype(np.int64))


class TrainingWindows(Dataset[torch.Tensor]):
    """All windows but every 20th, numbered without gaps."""

    def __init__(self, windows: TokenWindows) -> None:
        self._windows = windows

    def __len__(self) -> int:
        return len(self._windows) - len(self._windows) // VALIDATION_EVERY

    def __getitem__(self, numbers: Sequence[int]) -> torch.Tensor:
        return self._windows[[number + number // (VALIDATION_EVERY - 1) for number in numbers]]


class HeldOutWindows(Dataset[torch.Tensor]):
    """Every 20th window, whatever the seed."""

    def __init__(self, windows: TokenWindows) -> None:
        self._windows = windows

    def __len__(self) -> int:
        return len(self._windows) // VALIDATION_EVERY

    def __getitem__(self, numbers: Sequence[int]) -> torch.Tensor:
        return self._windows[[number * VALIDATION_EVERY + VALIDATION_EVERY - 1 for number in numbers]]


class StreamSampler(Sampler[list[int]]):
    """This rank's batches of one endless stream of ``count`` samples that all ranks share.

    The stream is one shuffled pass over the samples after another. Batch k of rank r holds the stream's entries from
    ``position`` + (k * world_size + r) * batch_size on: every entry depends on the seed and its place alone. So a
    resumed job that knows how many entries were used goes on with the next one, with any number of ranks.
    """

    def __init__(
        self, count: int, batch_size: int, seed: int, rank: int = 0, world_size: int = 1, position: int = 0
    ) -> None:
        self._count = count
        self._batch_size = batch_size
        self._seed = seed
        self._stride = world_size * batch_size
        self._first = position + rank * batch_size

    def __iter__(self) -> Iterator[list[int]]:
        batches = -(-_AHEAD // self._batch_size)
        places = self._first + np.arange(batches)[:, None] * self._stride + np.arange(self._batch_size)
        while True:
            yield from shuffled(places.ravel(), self._count, self._seed).reshape(places.shape).tolist()
            places += batches * self._stride
