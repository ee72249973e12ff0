# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Samples of different lengths in few shapes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from torch.utils.data import DataLoader

from gaudi3_scale.core._errors import GaudiError
from gaudi3_scale.data.bucketed_batches import BucketedBatches, PadToBucket, Share
from gaudi3_scale.data.length_buckets import LengthBuckets, choose_buckets

LENGTHS = np.random.default_rng(7).lognormal(4.5, 0.7, 2000).astype(int).clip(1, 900)


def least_by_trying(lengths, shapes, multiple):
    """The padding of the best list of bounds, of all there are."""
    candidates = sorted({-(-length // multiple) * multiple for length in lengths})
    lists = (
        (*inner, candidates[-1]) for count in range(shapes) for inner in itertools.combinations(candidates[:-1], count)
    )
    return min(LengthBuckets(bounds).padding(lengths).padded for bounds in lists)


@pytest.mark.parametrize("shapes", [1, 2, 3, 4])
def test_no_other_list_of_so_many_bounds_pads_less(shapes):
    lengths = LENGTHS[:60].clip(1, 300)
    chosen = choose_buckets(lengths, shapes)
    assert len(chosen.bounds) <= shapes
    assert chosen.padding(lengths).padded == least_by_trying(lengths, shapes, 32)


def test_the_padding_that_is_saved_is_told():
    one, eight = choose_buckets(LENGTHS, 1), choose_buckets(LENGTHS, 8)
    assert one.padding(LENGTHS).saved == 0
    padding = eight.padding(LENGTHS)
    assert padding.tokens == LENGTHS.sum()
    assert padding.longest == len(LENGTHS) * eight.bounds[-1]
    assert padding.share < 0.2 < padding.saved
    assert choose_buckets([64, 64], 8).bounds == (64,)


def test_longer_samples_are_cut():
    buckets = choose_buckets([10, 50, 5000], 3, longest=96)
    assert buckets.bounds == (32, 64, 96)
    assert buckets.padding([5000]).padded == 96
    assert PadToBucket(buckets)([list(range(5000))]).shape == (1, 96)


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (tuple(range(32, 32 * 10, 32)), "make 9 shapes, and most_shapes is 8"),
        ((), r"bounds \(none\): give lengths that go up"),
        ((64, 64), "bounds 64, 64: give lengths that go up"),
        ((0, 64), "bounds 0, 64: give lengths that go up"),
    ],
)
def test_bounds_that_are_too_many_or_in_no_order_are_refused(bounds, said):
    with pytest.raises(GaudiError, match=said):
        LengthBuckets(bounds)


@pytest.mark.parametrize("lengths", [[], [0, 5], [-1]])
def test_there_is_nothing_to_choose_from(lengths):
    with pytest.raises(GaudiError, match="needs lengths of at least 1"):
        choose_buckets(lengths)


BUCKETS = choose_buckets(LENGTHS, 4)


def batches(rank, world=2, step=0, count=400, seed=3):
    made = BucketedBatches(LENGTHS, BUCKETS, 8, seed, Share(rank, world), step=step)
    return list(itertools.islice(iter(made), count)), made.steps


def test_ranks_share_a_pass_and_have_one_shape_in_each_step():
    (first, steps), (second, _same) = batches(0), batches(1)
    for ours, theirs in zip(first, second):
        shapes = set(BUCKETS.number_of(LENGTHS[np.array(ours + theirs)]))
        assert len(shapes) == 1
    whole = [number for batch in first[:steps] + second[:steps] for number in batch]
    assert len(whole) == len(set(whole)) == steps * 16
    # What did not fill a batch on every rank.
    assert len(LENGTHS) - len(whole) < 16 * len(BUCKETS.bounds)
    assert first[:steps] != first[steps : 2 * steps]


def test_a_resumed_training_goes_on_with_the_next_batch():
    whole, steps = batches(1)
    for step in (1, steps - 1, steps, steps + 5):
        assert batches(1, step=step, count=20)[0] == whole[step : step + 20]
    assert batches(1, seed=4)[0] != whole


def test_a_batch_that_no_bucket_fills_is_refused():
    with pytest.raises(GaudiError, match=r"^batch_size 8 times 64 ranks is more than the 3 samples of the largest"):
        BucketedBatches([5, 50, 51, 52], LengthBuckets((32, 64)), 8, share=Share(0, 64))


def test_a_loader_has_no_more_shapes_than_there_are_bounds():
    samples = [list(range(1, length + 1)) for length in LENGTHS]
    sampler = BucketedBatches(LENGTHS, BUCKETS, 8)
    loader = DataLoader(samples, batch_sampler=sampler, collate_fn=PadToBucket(BUCKETS, value=-1))
    seen = list(itertools.islice(iter(loader), sampler.steps))
    assert {batch.shape for batch in seen} == {(8, bound) for bound in BUCKETS.bounds}
    assert all((row[: (row > 0).sum()] > 0).all() for batch in seen for row in batch)
