# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""Why a probe has no answer, in one sentence that says what to do; pure."""

from __future__ import annotations

import re
from typing import Protocol

from .memory_model import Prior

# What an allocator asked for in vain: Gaudi's two texts, "size::123" and "size ::123", and PyTorch's on a CPU.
ASKED = re.compile(r"size ?::\s*(\d+)|allocate (\d+) bytes")
# From this part of the memory on it is the model and not the batch that is too large.
MOSTLY_MODEL = 0.6


class FailedTrial(Protocol):
    @property
    def message(self) -> str:
        """What the trial said last."""

    @property
    def peak_memory_bytes(self) -> int | None:
        """Of the card; None where it was not told."""

    @property
    def resting_memory_bytes(self) -> int | None:
        """Before the first step; None where it was not told."""

    @property
    def limit_bytes(self) -> int | None:
        """What the card has; None where it was not told."""


def without_size(minimum: int, maximum: int, multiple_of: int) -> str:
    """What is wrong with the bounds; empty where they hold a size."""
    if multiple_of < 1:
        return f"multiple_of is {multiple_of}; give a whole number of at least 1."
    if minimum < 1:
        return f"minimum is {minimum}; give at least 1."
    if maximum < minimum:
        return f"minimum {minimum} is above maximum {maximum}; swap them, or raise maximum."
    if maximum < multiple_of:
        return (
            f"maximum {maximum} contains no multiple of {multiple_of}; raise maximum to {multiple_of} or more, "
            "or lower multiple_of."
        )
    if maximum // multiple_of * multiple_of < minimum:
        return f"{minimum} to {maximum} contains no multiple of {multiple_of}; widen the bounds, or lower multiple_of."
    return ""


def ignores_the_batch(small: int, large: int, peak: int) -> str:
    return (
        f"The peak memory does not depend on the batch size: {in_gib(peak)} at {small} samples as at {large}; the "
        "workload ignores "
        "the batch size: use batch_size in its function for the data of a step."
    )


def too_unsteady(size: int, peak: float, noise: float, memory: float) -> str:
    return (
        f"Batch size {size}, the smallest allowed, ran with {in_gib(peak)} of {in_gib(memory)}, but the peaks of its "
        f"steps differ by {noise:.1%}, so a later step could run out of memory; use activation checkpointing, a "
        "shorter sequence or sharding."
    )


def too_large(size: int, trial: FailedTrial, limit: int | None, prior: Prior | None) -> str:
    """The smallest size does not fit: by how much, as far as anything tells, and what would help."""
    limit = trial.limit_bytes or limit
    needed, source = _needed(size, trial, prior)
    by = ""
    if needed and limit and needed > limit:
        by = f": it needs {source} {in_gib(needed)}, {in_gib(needed - limit)} more than the card's {in_gib(limit)}"
    static = trial.resting_memory_bytes or (int(prior.static_bytes) if prior else 0)
    return (
        f"Batch size {size}, the smallest allowed, already runs out of memory{by} ({_short(trial.message)}); "
        f"{_help(size, static, limit)}."
    )


def in_gib(size: float) -> str:
    return f"{size / (1 << 30):.2f} GiB"


def _needed(size: int, trial: FailedTrial, prior: Prior | None) -> tuple[int, str]:
    asked = ASKED.search(trial.message)
    if asked and trial.peak_memory_bytes is not None:
        return trial.peak_memory_bytes + int(asked[1] or asked[2]), "at least"
    if prior is not None:
        return int(prior.static_bytes + size * prior.bytes_per_sample), "as estimated"
    return 0, ""


def _help(size: int, static: int, limit: int | None) -> str:
    smaller = "" if size == 1 else ", or lower multiple_of or minimum"
    if static and limit and static > MOSTLY_MODEL * limit:
        return (
            f"parameters and optimizer state alone take {in_gib(static)}: shard them over more cards (FSDP2), or use a "
            f"smaller model{smaller}"
        )
    return f"use activation checkpointing, a shorter sequence or sharding{smaller}"


def _short(message: str) -> str:
    lines = message.strip().splitlines()
    return lines[-1][:200] if lines else "no message"
