# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Steps in a history: none where there is none, and where there is one its place, its size and its cause."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._benchmark.history_steps import (
    NOTHING,
    Entry,
    changed,
    find_steps,
)

NOISE = 0.005


def entries(*levels: float, seed: int = 1, repeats: int = 5, keys: Mapping[int, Any] | None = None) -> list[Entry]:
    """Benchmarks of these levels; from a place in ``keys`` on they have that key."""
    draw = random.Random(seed)
    key: Any = {}
    found = []
    for at, level in enumerate(levels):
        key = (keys or {}).get(at, key)
        found.append(Entry(tuple(level * math.exp(draw.gauss(0, NOISE)) for _ in range(repeats)), key, float(at)))
    return found


def test_two_hundred_equal_pairs_are_called_once_at_most() -> None:
    assert sum(bool(find_steps(entries(1, 1, seed=seed))) for seed in range(200)) <= 1


def test_three_percent_is_found_in_five_pairs_up_and_down_alike() -> None:
    for after in (0.97, 1.03):
        found = [find_steps(entries(1, after, seed=seed)) for seed in range(100)]
        assert sum(len(steps) == 1 for steps in found) >= 99
        assert all(steps[0].speed.low < after < steps[0].speed.high for steps in found[:20] if steps)


def test_a_step_is_where_it_is_and_has_its_cause() -> None:
    before = {"release": ["1.23.0"], "flags": {"A": "1"}, "hosts": ["n1"]}
    after = {**before, "release": ["1.24.1"], "flags": {"A": "1", "B": "0"}}
    (step,) = find_steps(entries(*[1] * 12, *[0.95] * 6, keys={0: before, 12: after}))
    assert step.position == 12
    assert step.speed.estimate == pytest.approx(0.95, abs=0.01)
    assert step.cause == "release 1.23.0 to 1.24.1; flag B none to 0"


def test_a_step_without_a_change_says_so() -> None:
    (step,) = find_steps(entries(1, 1, 1, 1.1, 1.1, 1.1, keys={0: {"driver": ["1"]}}))
    assert (step.position, step.cause) == (3, NOTHING)


def test_two_steps_are_two() -> None:
    assert [step.position for step in find_steps(entries(*[1] * 6, *[0.9] * 6, *[1] * 6))] == [6, 12]


def test_one_benchmark_apart_is_an_outlier_once_the_next_is_back() -> None:
    assert find_steps(entries(*[1] * 6, 0.8, *[1] * 6)) == []
    assert [step.position for step in find_steps(entries(*[1] * 6, 0.8))] == [6]


def test_what_is_sure_and_small_is_not_told() -> None:
    assert find_steps([Entry((1.0, 1.0001)), Entry((0.995, 0.9951))]) == []


def test_entries_that_vary_more_than_their_repeats_are_judged_by_that() -> None:
    draw = random.Random(3)
    levels = [math.exp(draw.gauss(0, 0.03)) for _ in range(30)]
    assert find_steps(entries(*levels)) == []


@pytest.mark.parametrize("few", [[], entries(1), [Entry((1.0,)), Entry((2.0,))]])
def test_of_too_few_runs_nothing_is_said(few: list[Entry]) -> None:
    assert find_steps(few) == []


def test_a_change_is_named_by_its_part() -> None:
    before = {"versions": {"torch": "2.10"}, "firmware": [], "flags": {"A": "1"}}
    after = {"versions": {"torch": "2.11"}, "firmware": ["1.22"], "flags": {}}
    assert changed(before, after) == ["torch 2.10 to 2.11", "firmware none to 1.22", "flag A 1 to none"]
