# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What the host makes of the memory that shapes tell, a batch size at a time."""

from __future__ import annotations

import math

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.prior_line import line_of

MEMORY = 100_000.0


def counted(peak):
    asked = []

    def told(size):
        asked.append(size)
        return peak(size)

    return told, asked


def test_a_line_takes_three_sizes():
    told, asked = counted(lambda size: 20_000 + 10 * size)
    prior = line_of(told, MEMORY, 0.1)
    assert (prior.static_bytes, prior.bytes_per_sample, prior.uncertainty) == (20_000, 10, 0.1)
    assert (prior.period, prior.offset, sorted(asked)) == (1, 0, [1023, 1024, 4096])
    assert not prior.bends


@pytest.mark.parametrize(("period", "offset"), [(2, 1), (8, 0), (16, 5), (24, 0), (100, 99), (128, 1)])
def test_steps_are_found_with_their_period_and_offset(period, offset):
    told, asked = counted(lambda size: 20_000 + 10 * period * math.ceil((size + offset) / period))
    prior = line_of(told, MEMORY)
    assert (prior.period, prior.offset) == (period, offset)
    assert (prior.static_bytes, prior.bytes_per_sample) == pytest.approx((20_000, 10))
    assert len(asked) == len(set(asked)) <= 22
    # Its last size that fits is the end of a step.
    assert prior.end(8000) == 8000 // period * period - offset


def test_what_bends_is_told_by_its_line_where_the_memory_ends():
    def peak(size):
        return 20_000 + 400 * size + 10 * size * size

    prior = line_of(peak, MEMORY)
    assert prior.bends
    fits = max(size for size in range(1, 200) if peak(size) <= MEMORY)
    assert 0.85 * fits < (MEMORY - prior.static_bytes) / prior.bytes_per_sample <= 1.15 * fits
    # Without the memory there is no such place.
    assert line_of(peak, None).static_bytes == 0
