# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Cards and batches from bytes: the arithmetic, without a model."""

from __future__ import annotations

import pytest

from gaudi3_scale.estimate.memory import ModelState, cards_needed, largest_batch, parts_of
from gaudi3_scale.estimate.refusal import Planned, too_large, too_small

GIB = 1 << 30
BILLION = 10**9
LLAMA = ModelState(70 * BILLION, 280 * BILLION, 280 * BILLION, 560 * BILLION, 4 * BILLION, 8 * BILLION)
SMALL = ModelState(BILLION, 4 * BILLION, 4 * BILLION, 8 * BILLION, BILLION // 10, BILLION // 10)


def planned(state=LLAMA, cards=8, sharding="fsdp2", memory=128 * GIB):
    return Planned("The model", state, cards, sharding, memory)


def test_only_fsdp2_divides_the_state():
    ddp, fsdp2 = (parts_of(SMALL, 8 * GIB, 8, sharding, "fp32") for sharding in ("ddp", "fsdp2"))
    assert ddp.state == SMALL.together
    assert fsdp2.state == SMALL.together // 8
    assert ddp.activations == fsdp2.activations == 8 * GIB
    assert fsdp2.rest > ddp.rest
    assert fsdp2.together == fsdp2.state + fsdp2.activations + fsdp2.rest


@pytest.mark.parametrize(("memory", "cards"), [(1000, 1), (999, 2), (100, 10), (11, 91), (1, 1000)])
def test_the_fewest_cards_are_found(memory, cards):
    assert cards_needed(lambda count: -(-1000 // count), memory) == cards


def test_what_no_card_takes_away_needs_no_number_of_cards():
    assert cards_needed(lambda count: 1000 // count + 50, 49) is None


@pytest.mark.parametrize("bent", [0, 0.001, 0.3])
@pytest.mark.parametrize("limit", [0, 1, 2, 3, 7, 96, 1000, 54321])
def test_the_largest_batch_is_exact_and_takes_few_steps(limit, bent):
    tried = []

    def together(batch):
        tried.append(batch)
        return int(1000 + 10 * batch + bent * batch * batch)

    memory = together(limit) if limit else 1005
    del tried[:]
    assert largest_batch(together, memory) == limit
    assert len(set(tried)) <= 45


def test_70_billion_with_adamw_on_8_cards_is_refused_with_the_arithmetic():
    said = too_large(planned())
    assert "70,000,000,000 parameters take 16 bytes each, 1,043.1 GiB, 130.4 GiB on each of 8 cards with fsdp2" in said
    assert "a card has 128.0 GiB" in said
    assert "use at least 9 cards, or a smaller model." in said
    assert too_large(planned(cards=9)) == ""


def test_ddp_is_sent_to_fsdp2():
    assert "all of it on each card with ddp" in too_large(planned(sharding="ddp"))
    assert "use at least 9 cards with --sharding fsdp2" in too_large(planned(sharding="ddp"))


def test_activations_that_no_number_of_cards_changes_are_said_to_be_those():
    huge = parts_of(SMALL, 200 * GIB, 8, "fsdp2", "bf16")
    said = too_small(planned(SMALL), huge, 4, None)
    assert "are on each card, however many there are: shorten --sequence-length" in said
    assert said.endswith("or lower --batch-size.")


def test_a_batch_that_does_not_fit_is_told_by_part():
    parts = parts_of(SMALL, 10 * GIB, 1, "ddp", "fp32")
    said = too_small(planned(SMALL, 1, "ddp", 20 * GIB), parts, 4, 2)
    assert (
        "takes 25.4 GiB on each of 1 card(s) with ddp: 14.9 GiB of weights, gradients and optimizer, 10.0 GiB" in said
    )
    assert "use at least 2 cards with --sharding fsdp2, or shorten" in said
