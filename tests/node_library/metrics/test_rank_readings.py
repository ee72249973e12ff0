# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from gaudi3_scale.metrics.peak_memory import MemoryUse
from gaudi3_scale.metrics.rank_readings import (
    Averages,
    as_numbers,
    by_node,
    from_numbers,
    mean_seconds,
    reading,
    slowest,
)
from gaudi3_scale.metrics.step_clock import PARTS


def of(busy, memory=100, communication=0.5):
    parts = {**dict.fromkeys(PARTS, 1.0), "communication": communication}
    return reading(2.0, MemoryUse(lambda: memory, lambda: memory - 5), busy, parts)


def test_a_reading_survives_the_gathering():
    one = of(0.25)
    assert from_numbers(as_numbers(one)) == one


def test_what_one_rank_does_not_know_is_not_known():
    parts = mean_seconds([of(1.0, communication=0.5), of(1.0, communication=None)])
    assert parts["communication"] is None
    assert parts["forward"] == 1.0


def test_the_slowest_rank_is_named_where_it_is_notably_slower():
    ranks = [of(1.0), of(1.02), of(1.5), of(0.99)]
    assert slowest(ranks, ["n1", "n2"]) == {"rank": 2, "node": "n2", "ratio": 1.5}
    assert slowest([of(1.0), of(1.1)], ["n1"]) is None
    assert slowest([of(1.0), of(1.3)], ["n1"]) == {"rank": 1, "node": "n1", "ratio": 1.3}
    assert slowest([of(1.0)], ["n1"]) is None
    assert slowest([of(1.0), of(None)], ["n1"]) is None


def test_nodes_have_the_means_of_their_own_ranks():
    nodes = by_node([of(1.0, 10), of(2.0, 30), of(4.0, 20), of(4.0, 20)], ["n1", "n2"])
    assert [(node["busy_seconds"], node["memory_bytes"]) for node in nodes.values()] == [(1.5, 30), (4.0, 20)]
    assert (nodes["n1"]["slowest_rank"], nodes["n1"]["slowest_busy_seconds"]) == (1, 2.0)
    assert nodes["n2"]["slowest_rank"] == 2
    assert nodes["n1"]["seconds"]["forward"] == 1.0


def test_lines_count_by_their_steps():
    averages = Averages()
    averages.add([of(1.0)], 1)
    averages.add([of(4.0)], 3)
    assert averages.steps == 4
    (one,) = averages.take()
    assert one.busy == pytest.approx(3.25)
    assert averages.steps == 0
