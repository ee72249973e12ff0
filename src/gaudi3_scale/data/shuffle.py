# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A shuffled order of any number of samples that is worked out place by place, and so takes no memory."""

from __future__ import annotations

import numpy as np

ROUNDS = 6
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def shuffled(places: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Which of ``count`` samples stand at ``places`` of an endless stream of shuffled passes over all of them; int64.

    Every sample stands once in each pass, and every pass has an order of its own. An order is a Feistel network, which
    permutes the numbers below a power of four whatever its round function is (Luby and Rackoff 1988); a number that is
    none of a sample is sent through again until it is one (cycle walking; Black and Rogaway 2002).
    """
    half = np.uint64(max(1, ((count - 1).bit_length() + 1) // 2))
    keys = _mixed(_mixed(np.full(1, seed, np.uint64)) + (places // count).astype(np.uint64))
    numbers = _permuted((places % count).astype(np.uint64), keys, half)
    while (outside := np.flatnonzero(numbers >= np.uint64(count))).size:
        numbers[outside] = _permuted(numbers[outside], keys[outside], half)
    return numbers.astype(np.int64)


def _permuted(numbers: np.ndarray, keys: np.ndarray, half: np.uint64) -> np.ndarray:
    """``half`` is the number of bits of each half of a number."""
    mask = (np.uint64(1) << half) - np.uint64(1)
    left, right = numbers >> half, numbers & mask
    for _round in range(ROUNDS):
        keys = keys + _GOLDEN
        left, right = right, left ^ (_mixed(right + keys) & mask)
    joined: np.ndarray = left << half | right
    return joined


def _mixed(values: np.ndarray) -> np.ndarray:
    """64 bits that all depend on all bits of ``values`` (the finaliser of splitmix64; Steele, Lea and Flood 2014)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed
