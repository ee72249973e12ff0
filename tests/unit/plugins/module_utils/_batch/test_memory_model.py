# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.memory_model import (
    FIRST,
    FLAT,
    LINE,
    OPEN,
    Prior,
    Readings,
)

MEMORY = 100.0


def of(peak, *sizes, resting=20.0, noise=0.0, prior=None):
    return Readings.of([(size, peak(size)) for size in sizes], resting, noise, prior)


def affine(size):
    return 20 + 0.1 * size


def test_one_reading_says_how_far_at_most_and_rules_nothing_out():
    reach = of(affine, 100).reach(MEMORY)
    assert (reach.known, reach.hopeful) == (FIRST, math.inf)
    assert 400 < reach.cautious < 800


def test_two_readings_on_a_line_with_the_resting_memory_tell_the_limit():
    reach = of(affine, 300, 600).reach(MEMORY)
    assert reach.known == LINE
    assert 790 < reach.cautious <= 800 <= reach.hopeful < 810


def test_without_a_resting_memory_a_third_reading_makes_the_line():
    assert of(affine, 300, 600, resting=0.0).reach(MEMORY).known == OPEN
    reach = of(affine, 100, 300, 600, resting=0.0).reach(MEMORY)
    assert reach.known == LINE
    assert 790 < reach.cautious <= 800


def test_a_plateau_is_flat_and_above_it_the_chord_does_not_overshoot():
    def late(size):
        return max(50.0, affine(size))

    assert of(late, 2, 200).reach(MEMORY).known == FLAT
    # One reading on the plateau and one above it: the line through both promises far too much.
    reach = of(late, 100, 400).reach(MEMORY)
    assert reach.known == OPEN
    assert reach.cautious == pytest.approx(800)
    assert reach.hopeful > 1200


@pytest.mark.parametrize("power", [1.03, 1.06, 1.12, 1.3])
def test_a_power_is_not_overshot_and_the_line_of_its_readings_is_an_upper_bound(power):
    def bent(size):
        return 20 + 80 * (size / 1000) ** power

    reach = of(bent, 150, 500).reach(MEMORY)
    assert 900 < reach.cautious <= 1000 <= reach.hopeful


def test_a_parabola_is_not_overshot():
    reach = of(lambda size: 20 + 50 * (size / 1000) + 30 * (size / 1000) ** 2, 100, 500).reach(MEMORY)
    assert 950 < reach.cautious <= 1000 <= reach.hopeful


def test_beyond_the_memory_the_reading_below_tells_how_far_to_go_back():
    reach = of(affine, 600, 820).reach(MEMORY)
    assert 790 < reach.cautious < 800
    assert reach.hopeful == pytest.approx(800)


def test_a_peak_below_that_of_a_smaller_size_is_lifted():
    assert Readings.of([(8, 40.0), (4, 41.0), (2, 30.0)]).points == ((2, 30.0), (4, 41.0), (8, 41.0))


def test_what_is_ruled_out_is_so_whatever_was_rounded():
    """Blocks of 1: the last reading may be up to one below what it is read as."""
    blocks = of(lambda size: float(math.ceil(affine(size))), 300, 600)
    assert blocks.reach(MEMORY).hopeful < blocks.most(MEMORY) < 830
    assert blocks.most(MEMORY) >= 800


def test_a_first_peak_that_noise_hides_does_not_promise_everything():
    assert Readings.of([(2, 20.0)], resting=20.0, noise=0.03).reach(MEMORY).cautious < 500
    assert of(affine, 2).reach(MEMORY).cautious > 200


def test_noise_hides_a_rise():
    assert of(affine, 100, 300).reach(MEMORY).known == LINE
    assert of(affine, 100, 300, noise=0.25).reach(MEMORY).known == FLAT


def test_the_estimate_bounds_what_could_fit_after_one_reading():
    prior = Prior(18.0, 0.11, 0.2)
    assert prior.fits(MEMORY) == pytest.approx((100 - 18 * 1.2) / (0.11 * 1.2))
    reach = of(affine, 600, prior=prior).reach(MEMORY)
    assert 740 < reach.cautious <= 800 <= reach.hopeful < 830


def test_no_memory_beside_the_resting_memory_reaches_nothing():
    reach = Readings.of([(4, 120.0)], resting=120.0).reach(MEMORY)
    assert reach.cautious == reach.hopeful == 0
