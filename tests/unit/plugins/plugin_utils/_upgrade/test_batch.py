# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Mapping

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._upgrade.batch import sick, stops, tolerated

TEN = [f"n{number}" for number in range(10)]


def test_a_node_whose_turn_has_not_come_is_not_sick() -> None:
    states = {"n0": "unchanged", "n1": "rolled_back", "n2": "drained", "n3": "upgraded"}
    assert sick(TEN, states) == ["n1", "n2"]


@pytest.mark.parametrize(
    ("nodes", "most", "expected"),
    [(1, None, 1), (19, None, 1), (20, None, 2), (10, 0.0, 0), (10, 25.0, 2), (3, 100.0, 3)],
)
def test_a_tenth_may_fail_and_always_one_unless_the_operator_says_otherwise(
    nodes: int, most: float | None, expected: int
) -> None:
    assert tolerated(nodes, most) == expected


@pytest.mark.parametrize(
    ("states", "canary", "most", "expected"),
    [
        ({"n0": "upgraded"}, "", None, False),
        ({"n0": "refused"}, "", 100.0, True),
        ({"n0": "refused"}, "n5", None, False),
        ({"n5": "failed"}, "n5", 100.0, True),
        ({"n0": "upgraded", "n1": "failed"}, "", None, False),
        ({"n0": "upgraded", "n1": "failed"}, "", 0.0, True),
        ({"n0": "upgraded", "n1": "failed", "n2": "unreachable"}, "", None, True),
        ({"n0": "upgraded", "n1": "failed", "n2": "unreachable"}, "", 20.0, False),
    ],
)
def test_the_others_are_left_alone_when_the_canary_or_too_many_are_sick(
    states: Mapping[str, str], canary: str, most: float | None, expected: bool
) -> None:
    assert stops(TEN, states, canary, most) is expected
