# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Why a training cannot fit, with the arithmetic, and what would make it fit; pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gaudi3_scale.estimate.memory import ModelState, Parts, cards_needed
from gaudi3_scale.models.sharding import FSDP2


@dataclass(frozen=True)
class Planned:
    """What is asked of the cards: ``cards`` of them, of ``memory`` bytes each."""

    name: str
    state: ModelState
    cards: int
    sharding: str
    memory: int
    checkpointing: bool = False

    @property
    def fewer_activations(self) -> str:
        return f"shorten --sequence-length{'' if self.checkpointing else ', or turn on --checkpointing'}"

    @property
    def state_of_a_card(self) -> int:
        return self.state.together // (self.cards if self.sharding == FSDP2 else 1)


def too_large(planned: Planned, advice: str = "") -> str:
    """What the model's state alone says, empty where it fits; ``advice`` where activations are known as well."""
    if planned.state_of_a_card <= planned.memory:
        return ""
    state = planned.state
    least = cards_needed(lambda cards: state.together // cards, planned.memory)
    share = (
        f"{gib(planned.state_of_a_card)} on each of {planned.cards} cards with fsdp2"
        if planned.sharding == FSDP2
        else "all of it on each card with ddp"
    )
    return (
        f"{planned.name}: weights, gradients and AdamW's state of {state.parameters:,} parameters take "
        f"{state.together / state.parameters:.0f} bytes each, {gib(state.together)}, {share}; a card has "
        f"{gib(planned.memory)}, and activations come on top; "
        f"{advice or f'use {_at_least(least, planned.sharding)}, or a smaller model'}."
    )


def too_small(planned: Planned, parts: Parts, batch: int, needed: int | None) -> str:
    """Why ``parts`` are more than a card has; ``needed`` are the cards that FSDP2 takes with this batch."""
    if needed is None:
        beside = (
            f"{gib(parts.activations + parts.rest)} of these are on each card, however many there "
            f"are: {planned.fewer_activations}{'' if batch == 1 else ', or lower --batch-size'}"
        )
        return too_large(planned, beside) or f"{_numbers(planned, parts, batch)}; {beside}."
    use = f"use {_at_least(needed, planned.sharding)}, or"
    return (
        too_large(planned, f"{use} a smaller model")
        or f"{_numbers(planned, parts, batch)}; {use} {planned.fewer_activations}."
    )


def named(directory: Path | None, module: object) -> str:
    """The model as the sentences begin with it."""
    return "The built-in model" if directory is None else f"--model {directory} ({type(module).__name__})"


def gib(size: float) -> str:
    return f"{size / (1 << 30):,.{1 if size >= 1 << 30 else 3}f} GiB"


def _numbers(planned: Planned, parts: Parts, batch: int) -> str:
    return (
        f"{planned.name} with batch size {batch} takes {gib(parts.together)} on each of {planned.cards} card(s) with "
        f"{planned.sharding}: {gib(parts.state)} of weights, gradients and optimizer, {gib(parts.activations)} of "
        f"activations, {gib(parts.rest)} of the rest; a card has {gib(planned.memory)}"
    )


def _at_least(cards: int | None, sharding: str) -> str:
    return f"at least {cards} cards{'' if sharding == FSDP2 else ' with --sharding fsdp2'}"
