# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.memory_model import Prior, Readings
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.way import Way

MEMORY = 100.0


def way(peak, *sizes, resting=20.0, prior=None, noise=0.0, failed=None):
    readings = Readings.of([(size, peak(size)) for size in sizes], resting, noise, prior)
    return Way.of(readings, MEMORY, MEMORY, failed)


def affine(size):
    return 30 + 0.1 * size


def padded(size):
    return 20 + 9.8 * math.ceil(size / 16)


@pytest.mark.parametrize("error", [0.86, 1.0, 1.14])
@pytest.mark.parametrize(
    ("peak", "prior"),
    [
        (affine, Prior(30.0, 0.1, 0.15)),
        (lambda size: 20 + 0.1 * size, Prior(20.0, 0.1, 0.15)),
        (lambda size: max(50.0, 20 + 0.1 * size), Prior(20.0, 0.1, 0.15)),
        (lambda size: 20 + 0.05 * size + 5e-5 * size * size, Prior(-17.0, 0.136, 0.15, bends=True)),
        (lambda size: 20 + 80 * (size / 800) ** 1.1, Prior(20.0, 0.1, 0.15)),
        (padded, Prior(20.0, 9.8 / 16, 0.15, 16, 0)),
    ],
)
def test_with_an_estimate_no_trial_that_the_readings_lead_to_runs_out_of_memory(peak, prior, error):
    prior = replace(prior, static_bytes=prior.static_bytes / error, bytes_per_sample=prior.bytes_per_sample / error)
    sizes = [math.floor(prior.end(prior.fits(MEMORY)))]
    while True:
        found = way(peak, *sizes, prior=prior)
        wanted = math.floor(found.cautious)
        if wanted <= max(sizes):
            break
        sizes.append(wanted)
        assert peak(wanted) <= MEMORY
        assert len(sizes) < 8
    limit = max(size for size in range(1, 1000) if peak(size) <= MEMORY)
    assert max(sizes) > 0.9 * limit


def test_with_an_estimate_two_readings_make_a_line():
    found = way(affine, 500, 620, prior=Prior(30.0, 0.1, 0.15))
    assert 680 < found.cautious <= found.likely <= 700 <= found.hopeful < 715
    # Not where the peak rests although the estimate says that it rises: nothing says where it goes on.
    assert way(lambda size: 80.0, 500, 620, prior=Prior(30.0, 0.1, 0.15)).hopeful == math.inf


def test_a_sample_takes_no_less_than_was_told_although_a_plateau_says_so():
    def late(size):
        return max(83.0, 20 + 0.1 * size)

    found = way(late, 400, 660, prior=Prior(20.0, 0.1, 0.15))
    assert found.cautious <= 800


def test_what_is_told_to_bend_is_no_line_from_the_resting_memory():
    line, bent = (way(affine, 600, prior=Prior(20.0, 0.12, 0.15, bends=bends)).cautious for bends in (False, True))
    assert bent < line


def test_batches_that_are_filled_up_as_estimated_end_with_a_step():
    prior = Prior(20.0, 9.8 / 16, 0.15, period=16, offset=0)
    found = way(padded, 96, prior=prior)
    assert found.cautious % 16 == 0
    assert padded(found.cautious) <= MEMORY


def test_between_two_peaks_lies_what_tells_steps_from_a_slope():
    assert way(padded, 1, 20).between == (1, 20)
    assert way(padded, 1, 16, 20).between == (16, 20)
    assert way(padded, 1, 8).between is None


def test_peaks_that_are_unsteady_hide_the_steps():
    assert way(padded, 1, 20, 40, noise=0.03).steps == ()


def test_what_rests_after_a_rise_comes_in_steps():
    found = way(padded, 1, 16, 17, 32, 33)
    assert (found.cautious, found.hopeful) == (128, 128)


def test_what_the_estimate_takes_for_a_line_may_bend():
    def bent(size):
        return 30 + 70 * (size / 800) ** 1.12

    assert 700 < way(bent, 560, prior=Prior(30.0, 0.0875 / 1.15, 0.15)).cautious <= 800


def test_where_a_peak_rests_although_it_was_told_to_rise_one_more_step_has_to_fit():
    def in_blocks(height):
        return lambda size: 20 + height * math.ceil(0.1 * size / height)

    prior = Prior(20.0, 0.1, 0.15)
    assert way(in_blocks(15.0), 500, 660, 750, prior=prior).blocked
    # Two readings that are equal do not say how high a step is.
    assert way(in_blocks(15.0), 660, 750, prior=prior).blocked
    assert not way(in_blocks(4.0), 600, 642, 678, prior=prior).blocked
    assert not way(affine, 500, 620, prior=Prior(30.0, 0.1, 0.15)).blocked
    assert not way(in_blocks(15.0), 500, 660, 750).blocked


def test_a_size_is_filled_up_as_the_estimate_says():
    assert way(padded, 96, prior=Prior(20.0, 9.8 / 16, 0.15, period=16, offset=3)).filled(97) == 109
    assert way(affine, 96).filled(97) == 97
