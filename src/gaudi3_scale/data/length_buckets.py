# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of different lengths in few shapes: each is padded to the next bound, since a Gaudi compiles each new shape.

For your own data and loop; the built-in trainer's windows are all of one length. Lengths are counted, not kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Sequence

import numpy as np

from gaudi3_scale.core._errors import GaudiError

MOST_SHAPES = 8
"""So many shapes a training may have unless it says otherwise: each costs a compilation, and its place in the cache."""
# Bounds are multiples of it: matrices that are none leave a part of the card's engine idle.
MULTIPLE_OF = 32


@dataclass(frozen=True)
class Padding:
    """``tokens`` that samples have; with their padding ``padded`` in buckets, and ``longest`` in the last one alone."""

    tokens: int
    padded: int
    longest: int

    @property
    def share(self) -> float:
        """Of what is computed, the part that is padding."""
        return 1 - self.tokens / self.padded if self.padded else 0.0

    @property
    def saved(self) -> float:
        """Of what would be computed with one shape, the part that buckets spare."""
        return 1 - self.padded / self.longest if self.longest else 0.0


@dataclass(frozen=True)
class LengthBuckets:
    """``bounds`` go up; a sample that is longer than the last one is cut there.

    Raises GaudiError for bounds that do not go up, and for more than ``most_shapes``.
    """

    bounds: tuple[int, ...]
    most_shapes: int = MOST_SHAPES

    def __post_init__(self) -> None:
        rising = all(low < high for low, high in zip((0, *self.bounds), self.bounds))
        if not self.bounds or not rising:
            raise GaudiError(f"bounds {_listed(self.bounds)}: give lengths that go up, such as 128, 256, 512.")
        if len(self.bounds) > self.most_shapes:
            raise GaudiError(
                f"bounds {_listed(self.bounds)} make {len(self.bounds)} shapes, and most_shapes is {self.most_shapes}: "
                "each is compiled once on every card; leave bounds out, or allow more."
            )

    def number_of(self, lengths: np.ndarray) -> np.ndarray:
        """Of each sample the bucket, from 0 on."""
        found: np.ndarray = np.searchsorted(self.bounds, np.minimum(lengths, self.bounds[-1]))
        return found

    def padding(self, lengths: Sequence[int] | np.ndarray) -> Padding:
        cut = np.minimum(np.asarray(lengths, np.int64), self.bounds[-1])
        padded = np.asarray(self.bounds, np.int64)[self.number_of(cut)]
        return Padding(int(cut.sum()), int(padded.sum()), len(cut) * self.bounds[-1])


def choose_buckets(
    lengths: Sequence[int] | np.ndarray,
    most_shapes: int = MOST_SHAPES,
    longest: int | None = None,
    multiple_of: int = MULTIPLE_OF,
) -> LengthBuckets:
    """Of all lists of at most so many bounds the one with the least padding; samples beyond ``longest`` are cut.

    Raises GaudiError where there is nothing to choose from.
    """
    known = np.asarray(lengths, np.int64)
    if not known.size or known.min() < 1 or most_shapes < 1 or multiple_of < 1:
        raise GaudiError(
            "choose_buckets needs lengths of at least 1, at least one shape, and a multiple of at least 1."
        )
    up = -(-np.minimum(known, longest or known.max()) // multiple_of)
    counts = np.bincount(up)
    candidates = np.flatnonzero(counts)
    chosen = _least_padding(candidates, counts[candidates], most_shapes)
    return LengthBuckets(tuple(int(bound) * multiple_of for bound in chosen), most_shapes)


def _least_padding(candidates: np.ndarray, counts: np.ndarray, most: int) -> list[int]:
    """By what is computed with the first candidates and so many bounds, of which the last candidate is one."""
    before = np.concatenate(([0], np.cumsum(counts)))
    # with_one[i]: all samples up to candidate i in one bucket.
    cost = candidates * before[1:].astype(np.float64)
    choices: list[np.ndarray] = []
    for _bound in range(1, min(most, len(candidates))):
        # Rows: the last bound of those before; columns: the last of all.
        table = cost[:, None] + candidates[None, :] * (before[None, 1:] - before[1:, None])
        table[np.tril_indices(len(candidates))] = np.inf
        choice = table.argmin(axis=0)
        better = table[choice, np.arange(len(candidates))] < cost
        choices.append(np.where(better, choice, -1))
        cost = np.where(better, table[choice, np.arange(len(candidates))], cost)
    return _followed(candidates, choices)


def _followed(candidates: np.ndarray, choices: list[np.ndarray]) -> list[int]:
    """From the last bound back to the first."""
    at, bounds = len(candidates) - 1, [int(candidates[-1])]
    for choice in reversed(choices):
        if choice[at] >= 0:
            at = int(choice[at])
            bounds.append(int(candidates[at]))
    return bounds[::-1]


def _listed(bounds: Sequence[int]) -> str:
    return ", ".join(map(str, bounds)) or "(none)"
