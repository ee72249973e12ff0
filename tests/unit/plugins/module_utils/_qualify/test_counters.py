# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What is worse after a test than before it, and what a test may do to a good card."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hpu_facts import HpuFacts, gather
from ansible_collections.gaudi3.scale.plugins.module_utils._qualify.counters import grown, throttled
from ansible_collections.gaudi3.scale.tests.unit.healthy_node import HlSmi, write_kernel

ROWS = {"rows_replaced_single_bit": 1, "rows_replaced_double_bit": 0}
COOL = {"throttled_by": (), "throttle_counters": {"power": 5, "thermal": 0}}


@pytest.fixture
def node(tmp_path: Path) -> HpuFacts:
    return gather(HlSmi(), str(write_kernel(tmp_path)))


def with_card(node: HpuFacts, **values: Any) -> HpuFacts:
    first, *others = node.cards
    return replace(node, cards=(replace(first, **values), *others))


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (ROWS, ROWS, []),
        (ROWS, {**ROWS, "rows_replaced_double_bit": 2}, ["card 0000:19:00.0 has replaced 2 memory rows."]),
        ({}, {**ROWS, "rows_replaced_double_bit": 2}, []),
        (ROWS, {}, []),
        (
            {"row_replacement_pending": False},
            {"row_replacement_pending": True},
            ["card 0000:19:00.0 waits to replace a row of its memory."],
        ),
    ],
)
def test_rows_of_the_memory(node: HpuFacts, before: dict[str, Any], after: dict[str, Any], said: list[str]) -> None:
    assert grown(with_card(node, **before), with_card(node, **after)) == said


@pytest.mark.parametrize(
    ("after", "reasons"),
    [
        (COOL, ""),
        ({**COOL, "throttle_counters": {"power": 6, "thermal": 0}}, "power"),
        # The driver was loaded anew meanwhile.
        ({**COOL, "throttle_counters": {"power": 0, "thermal": 0}}, ""),
        ({**COOL, "throttle_counters": {"power": 5, "thermal": 1}, "throttled_by": ("thermal",)}, "thermal"),
        ({"throttled_by": ("power", "thermal")}, "power and thermal"),
        ({}, ""),
    ],
)
def test_a_reduced_clock_is_remarked_and_no_fault(node: HpuFacts, after: dict[str, Any], reasons: str) -> None:
    before, now = with_card(node, **COOL), with_card(node, **after)
    assert throttled(before, now) == ([f"card 0000:19:00.0 had its clock reduced for {reasons}."] if reasons else [])
    assert grown(before, now) == []
