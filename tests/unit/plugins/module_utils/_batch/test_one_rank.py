# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.bounds import Bounds
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.one_rank import one_rank, prior_of_one_rank
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.search import Trial, largest_batch
from ansible_collections.gaudi3.scale.plugins.module_utils._batch.trial import Workload

GIB = 1 << 30


def ran(size, buckets=0.0):
    return Trial(size, "ok", int((24 + buckets + size / 10) * GIB), 0.1, "", 24 * GIB, 0, 100 * GIB)


def test_one_rank_has_nobody_to_share_with():
    alone = one_rank(Workload("m:f", {"width": 2, "sharding": "ddp"}, processes=8))
    assert (alone.processes, dict(alone.options)) == (1, {"width": 2})
    assert one_rank(Workload("m:f", {"sharding": "fsdp2"}, processes=8)).options == {"sharding": "fsdp2"}
    assert one_rank(Workload("m:f")) is None


def test_its_line_has_room_for_the_buckets():
    prior = prior_of_one_rank([ran(1), ran(400), ran(700)])
    assert prior.bytes_per_sample == pytest.approx(GIB / 10)
    assert prior.static_bytes == pytest.approx(32 * GIB)


@pytest.mark.parametrize("trials", [[], [Trial(8, "out_of_memory")], [Trial(8, "ok", GIB)], [Trial(8, "ok")]])
def test_where_nothing_was_measured_nothing_is_told(trials):
    assert prior_of_one_rank(trials) is None


@pytest.mark.parametrize("buckets", [0.0, 4.0, 8.0])
def test_several_ranks_take_two_trials_and_none_of_them_fails(buckets):
    prior = prior_of_one_rank([ran(1), ran(400), ran(740)])
    bounds = Bounds(8192, limit_bytes=100 * GIB, prior=prior)
    search = largest_batch(lambda size: ran(size, buckets), bounds)
    assert all(trial.peak_memory_bytes <= 100 * GIB for trial in search.trials)
    assert len(search.trials) <= 3
    assert search.batch_size >= 0.97 * (76 - buckets) * 10
