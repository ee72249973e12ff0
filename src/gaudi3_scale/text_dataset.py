# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Real text as bytes: windows of it, which of them are held out, and the order in which all ranks read them."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator, Sequence

import torch
from torch.utils.data import Dataset, Sampler

from gaudi3_scale.core.errors import GaudiError

VALIDATION_EVERY = 20
"""One window in so many is held out for validation."""


def text_files(paths: Sequence[Path]) -> list[Path]:
    """The files meant by ``paths``: a file itself, a directory's regular files at any depth, sorted by path.

    Links inside a directory are left out, since they mostly repeat a neighbour.
    Raises GaudiError for a path that is neither.
    """
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
        elif path.is_file():
            files.append(path)
        else:
            raise GaudiError(f"--text {path}: there is no such file or directory on this node.")
    return files


def read_text(paths: Sequence[Path]) -> torch.Tensor:
    """The bytes of all files in one uint8 tensor of shape [bytes], in the order of :func:`text_files`."""
    files = text_files(paths)
    try:
        text = bytearray().join(file.read_bytes() for file in files)
    except OSError as error:
        raise GaudiError(f"--text {error.filename}: {error.strerror}; name files that this user can read.") from error
    if not text:
        raise GaudiError(f"--text {' '.join(map(str, paths))}: no text is there; name files that are not empty.")
    return torch.frombuffer(text, dtype=torch.uint8)


class TextWindows(Dataset):
    """Windows of ``length`` + 1 bytes as int64, [length + 1]: a model reads all but the last and predicts all but the
    first. Window i begins at byte i * length, so that every byte but the first is predicted once."""

    def __init__(self, text: torch.Tensor, length: int) -> None:
        self._text = text
        self._length = length

    def __len__(self) -> int:
        return max(0, (len(self._text) - 1) // self._length)

    def __getitem__(self, window: int) -> torch.Tensor:
        start = window * self._length
        return self._text[start : start + self._length + 1].long()


def split_windows(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The window numbers for training and for validation: every 20th is held out, whatever the seed."""
    windows = torch.arange(count)
    held_out = windows % VALIDATION_EVERY == VALIDATION_EVERY - 1
    return windows[~held_out], windows[held_out]


class StreamSampler(Sampler[list[int]]):
    """This rank's batches of one endless stream of windows that all ranks share.

    The stream is one shuffled pass over ``windows`` after another. Batch k of rank r holds the stream's entries from
    ``position`` + (k * world_size + r) * batch_size on: every entry depends on the seed and its place alone. So a
    resumed job that knows how many entries were used goes on with the next one, with any number of ranks.
    """

    def __init__(
        self, windows: torch.Tensor, batch_size: int, seed: int, rank: int = 0, world_size: int = 1, position: int = 0
    ) -> None:
        self._windows = windows
        self._batch_size = batch_size
        self._seed = seed
        self._stride = world_size * batch_size
        self._first = position + rank * batch_size

    def __iter__(self) -> Iterator[list[int]]:
        start, epoch, order = self._first, -1, self._windows
        while True:
            batch: list[int] = []
            for place in range(start, start + self._batch_size):
                if place // len(self._windows) != epoch:
                    epoch = place // len(self._windows)
                    order = self._pass(epoch)
                batch.append(int(order[place % len(self._windows)]))
            yield batch
            start += self._stride

    def _pass(self, epoch: int) -> torch.Tensor:
        generator = torch.Generator().manual_seed(self._seed * 1_000_003 + epoch)
        return self._windows[torch.randperm(len(self._windows), generator=generator)]
