# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Whether a training fits: a card's memory by part, the largest batch, and the cards that are needed."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import cache

from gaudi3_scale.batch.trial import load_workload
from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.estimate.memory import Parts, cards_needed, largest_batch, parts_of, with_margin
from gaudi3_scale.estimate.model_state import model_of_shapes, on_no_device, state_of
from gaudi3_scale.estimate.refusal import Planned, gib, named, too_large, too_small
from gaudi3_scale.estimate.step import TracedModel
from gaudi3_scale.estimate.workload import peak_bytes
from gaudi3_scale.models.sharding import FSDP2

# Of this the logits of a model depend on its own vocabulary, whatever tokens come.
ONE_TOKEN = 1


@dataclass(frozen=True)
class Estimate:
    """``cards_needed`` are with FSDP2 and the same batch on each card; None where no number is enough.

    ``refusal`` says why it does not fit; empty where it does. Of a workload the parts are not known.
    """

    model: str
    parameters: int
    checkpointing: bool
    parts: Parts | None
    together: int
    memory: int
    largest_batch: int
    cards_needed: int | None
    refusal: str


def estimate_of(options: argparse.Namespace) -> Estimate:
    """Raises GaudiError for a model that cannot be built, and one whose activations its shapes do not tell."""
    vocabulary = ONE_TOKEN if options.model else options.vocabulary
    described = on_no_device(options, vocabulary)
    state, name = state_of(described.module), named(options.model, described.module)
    planned = Planned(name, state, options.cards, options.sharding, options.memory, described.checkpointing)
    try:
        traced = _traced(options, vocabulary)
        traced.activations(options.batch_size)
    except GaudiError as error:
        # Of a model that reads values so much is known, and it may be enough for a refusal.
        raise GaudiError(too_large(planned) or f"{name}: {error}") from error

    def on_a_card(batch: int, cards: int, sharding: str) -> Parts:
        return parts_of(state, traced.activations(batch), cards, sharding, options.precision)

    parts = on_a_card(options.batch_size, options.cards, options.sharding)
    needed = cards_needed(lambda cards: on_a_card(options.batch_size, cards, FSDP2).together, options.memory)
    refusal = "" if parts.together <= options.memory else too_small(planned, parts, options.batch_size, needed)
    return Estimate(
        model=name,
        parameters=state.parameters,
        checkpointing=described.checkpointing,
        parts=parts,
        together=parts.together,
        memory=options.memory,
        largest_batch=largest_batch(
            lambda batch: on_a_card(batch, options.cards, options.sharding).together, options.memory
        ),
        cards_needed=needed,
        refusal=refusal,
    )


def estimate_of_workload(options: argparse.Namespace) -> Estimate:
    """One card's memory with the step of a function, which its shapes alone have to decide."""
    function = load_workload(options.workload)

    @cache
    def together(batch: int) -> int:
        try:
            peak = peak_bytes(function, options.workload_options, batch)
        # The function is a user's: whatever it or PyTorch raises.
        except Exception as error:
            said = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise GaudiError(
                f"--workload {options.workload} cannot be run on shapes alone ({said[:150]}); the batch-size probe "
                "runs it."
            ) from error
        return with_margin(peak, options.precision)

    needed, largest = together(options.batch_size), largest_batch(together, options.memory)
    refusal = ""
    if needed > options.memory:
        refusal = (
            f"--workload {options.workload} takes {gib(needed)} with batch size {options.batch_size}, and a card has "
            f"{gib(options.memory)}; give {f'--batch-size {largest}' if largest else 'it a smaller model'}."
        )
    name = f"--workload {options.workload}"
    return Estimate(name, 0, False, None, needed, options.memory, largest, None, refusal)


def _traced(options: argparse.Namespace, vocabulary: int) -> TracedModel:
    return TracedModel(
        lambda: model_of_shapes(options, vocabulary).module,
        options.sequence_length,
        options.precision,
        options.sharding,
    )
