# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
# Private to gaudi3.scale: it may change in any release.
"""What a training needs of its storage against what was measured; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.gaudi3.scale.plugins.module_utils._node.quantities import quantity, rounded, written
from ansible_collections.gaudi3.scale.plugins.module_utils._storage.fio import RANDOM_READ, WRITE
from ansible_collections.gaudi3.scale.plugins.plugin_utils._storage.phases import Rates


@dataclass(frozen=True)
class Needs:
    """Of the whole job; 0 where nobody said. ``checkpoint_interval`` in seconds."""

    tokens_per_second: float = 0.0
    bytes_per_token: float = 4.0
    parameters: float = 0.0
    bytes_per_parameter: float = 12.0
    checkpoint_interval: float = 0.0


@dataclass(frozen=True)
class Answer:
    """``figures`` by name, and ``sentences`` that say them; ``missed`` are those that a need was not met by."""

    figures: Mapping[str, Any]
    sentences: tuple[str, ...]
    missed: tuple[str, ...]


def answer(rates: Rates, needs: Needs) -> Answer:
    """Without a need, how much the storage would do; with one, whether that is enough."""
    data, checkpoint = _data(rates.total(RANDOM_READ), needs), _checkpoint(rates.total(WRITE), needs)
    found = [one for one in (data, checkpoint) if one]
    return Answer(
        {name: value for one in found for name, value in one.figures.items()},
        tuple(sentence for one in found for sentence in one.sentences),
        tuple(sentence for one in found for sentence in one.missed),
    )


def _data(rate: float, needs: Needs) -> Answer | None:
    """Training data is read in windows at random places."""
    if not rate:
        return None
    fed = rate / needs.bytes_per_token
    each = f"{needs.bytes_per_token:g} bytes per token"
    figures = {"tokens_per_second_fed": fed, "tokens_per_second_needed": needs.tokens_per_second or None}
    if not needs.tokens_per_second:
        return Answer(figures, (f"feeds up to {quantity(fed)} tokens/s of {each}",), ())
    ratio = fed / needs.tokens_per_second
    if ratio >= 1:
        return Answer(
            figures, (f"feeds {written(needs.tokens_per_second)} tokens/s of {each}, {rounded(ratio)} times over",), ()
        )
    said = (
        f"Data: {written(needs.tokens_per_second)} tokens/s of {each} are needed, and {quantity(fed)} can be read: "
        f"cards would wait {1 - ratio:.0%} of the time."
    )
    return Answer(figures, (), (said,))


def _checkpoint(rate: float, needs: Needs) -> Answer | None:
    if not rate or not needs.parameters:
        return None
    size = needs.parameters * needs.bytes_per_parameter
    seconds = size / rate
    about = f"a checkpoint of {written(needs.parameters)} parameters ({quantity(size / 1e9)} GB)"
    figures = {"checkpoint_seconds": seconds, "checkpoint_interval": needs.checkpoint_interval or None}
    if not needs.checkpoint_interval:
        return Answer(figures, (f"{about} is written in {quantity(seconds)} s",), ())
    if seconds <= needs.checkpoint_interval:
        said = (
            f"{about} is written in {quantity(seconds)} s, and one is due every {written(needs.checkpoint_interval)} s"
        )
        return Answer(figures, (said,), ())
    missed = (
        f"Checkpoints: {about} takes {quantity(seconds)} s, and the next one is due after "
        f"{written(needs.checkpoint_interval)} s; write them less often, or to faster storage."
    )
    return Answer(figures, (), (missed,))
