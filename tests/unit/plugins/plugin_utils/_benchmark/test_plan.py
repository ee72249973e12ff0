# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The runs of a benchmark and their order, and numbers that cannot be meant."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.plan import Plan, cases_of, check
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.workloads import Workload

WORKLOAD = Workload("w", ("a",), "bf16", (2, 4))
CASES = cases_of([WORKLOAD], [2, 1], 2)


def test_every_batch_size_is_measured_on_every_number_of_nodes() -> None:
    assert [case.label for case in CASES] == [
        "w, batch 2, 1 node",
        "w, batch 2, 2 nodes",
        "w, batch 4, 1 node",
        "w, batch 4, 2 nodes",
    ]


def test_the_order_varies_and_is_the_same_in_every_benchmark() -> None:
    plan = Plan(CASES)
    orders = [tuple(plan.order(repeat)) for repeat in range(1, 6)]
    assert len(set(orders)) > 1
    assert orders == [tuple(Plan(CASES).order(repeat)) for repeat in range(1, 6)]
    assert all(set(order) == set(CASES) for order in orders)


def test_a_run_has_about_twenty_lines() -> None:
    assert (Plan(CASES).line_every, Plan(CASES, steps=18).line_every) == (4, 1)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"repeats": 1}, "repeats is 1; give at least 2, because one run shows no spread and is no figure"),
        ({"warm_up": 0}, "warm_up is 0; give at least 1"),
        ({"steps": 12}, "steps is 12 with a warm_up of 10; give at least 18"),
        ({"processes": 0}, "processes_per_node is 0"),
        ({"spread": 1.0}, "spread is 1; give a fraction"),
        ({"confidence": 0.0}, "confidence is 0; give a fraction"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(GaudiError, match=words):
        check(Plan(CASES, **given))


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ([], "nodes is empty"),
        ([0, 1], "nodes is 0, 1; give numbers of nodes of at least 1"),
        ([4], "nodes has 4, and hosts has 2"),
    ],
)
def test_nodes_that_there_are_not_are_refused(nodes: list[int], words: str) -> None:
    with pytest.raises(GaudiError, match=words):
        cases_of([WORKLOAD], nodes, 2)
