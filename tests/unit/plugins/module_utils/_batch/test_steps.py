# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.steps import possible

MEMORY = 100.0


def padded(period, offset, block=4.9, start=20.0):
    return lambda size: start + block * math.ceil((size + offset) / period)


def read(peak, *sizes):
    return [(size, peak(size)) for size in sizes]


@pytest.mark.parametrize(("period", "offset"), [(8, 0), (16, 3), (128, 0), (128, 77)])
def test_whatever_is_surely_within_the_memory_fits_and_nothing_larger_than_hoped_for_does(period, offset):
    peak = padded(period, offset)
    sizes = [1, 2, 5, period, 3 * period + 1, 4 * period]
    for count in range(1, len(sizes) + 1):
        found = possible(read(peak, *sizes[:count]), 20.0, 0.1, None, MEMORY)
        surely = min(one.surely(MEMORY) for one in found)
        assert peak(math.floor(surely)) <= MEMORY
        assert max(one.hopefully(MEMORY) for one in found) >= 16 * period - offset


def test_readings_on_both_sides_of_a_step_tell_its_period_and_where_it_lies():
    (found,) = possible(read(padded(16, 5), 1, 11, 12, 27, 28), 20.0, 0.1, None, MEMORY)
    assert (found.period, found.first, found.last, found.surely(MEMORY)) == (16, 5, 5, 16 * 16 - 5)


def test_a_line_has_no_steps():
    found = possible([(size, 20 + 0.1 * size) for size in (1, 10, 100, 300, 333)], 20.0, 0.04, None, MEMORY)
    assert {one.period for one in found} == {1}


def test_an_unusual_period_is_thought_of_where_no_usual_one_will_do():
    found = possible(read(padded(24, 0), 1, 24, 25, 48, 49, 72, 73), 20.0, 0.1, None, MEMORY)
    assert [(one.period, one.first, one.last) for one in found] == [(24, 0, 0)]


def test_a_size_that_failed_rules_out_whatever_would_have_held_it():
    flat = read(padded(128, 0, block=60.0), 1, 2, 64, 128)
    assert max(one.surely(MEMORY) for one in possible(flat, 20.0, 0.1, None, MEMORY)) > 200
    assert {one.surely(MEMORY) for one in possible(flat, 20.0, 0.1, 256, MEMORY)} == {128}


def test_what_fits_no_period_has_none():
    assert possible([(1, 20.0), (10, 30.0), (11, 60.0), (12, 61.0), (13, 90.0)], 20.0, 0.1, None, MEMORY) == []
