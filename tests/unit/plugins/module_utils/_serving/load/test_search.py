# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The highest load is found in seven runs, whatever the server is like."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from plugins.module_utils._errors import GaudiError
from plugins.module_utils._serving.load.search import (
    FAILED,
    MOST_CLIENTS,
    MOST_RUNS,
    Limits,
    found_level,
    levels,
    misses,
    next_level,
)


def search(curve: Callable[[int], float], highest: int, guess: int = 0) -> tuple[int, int]:
    """(the level found, the runs that it took)."""
    all_levels, tried = levels(highest), dict[int, float]()
    while (level := next_level(all_levels, tried, guess)) is not None:
        assert level not in tried
        tried[level] = curve(level)
    return found_level(all_levels, tried), len(tried)


def exhaustive(curve: Callable[[int], float], highest: int) -> int:
    return max((clients for clients in range(1, highest + 1) if curve(clients) <= 1), default=0)


def curves(chance: random.Random) -> list[Callable[[int], float]]:
    """Latency over its limit: in proportion, with a knee at the seats, with a wall, steep, flat, failing."""
    knee, scale, power = chance.randint(1, 600), chance.uniform(0.001, 2), chance.uniform(0.1, 3)
    return [
        lambda clients: scale * clients,
        lambda clients: 0.2 if clients <= knee else 0.2 + (clients - knee) * scale,
        lambda clients: 0.01 if clients <= knee else 50.0,
        lambda clients: (clients / knee) ** power,
        lambda clients: 0.9 if clients <= knee else FAILED,
        lambda clients: 1 / max(1e-3, 1 - clients / (knee + 1)) / 10 if clients <= knee else 1e4,
    ]


@pytest.mark.parametrize("highest", [1, 2, 30, 256, MOST_CLIENTS])
def test_it_is_within_five_percent_of_all_loads_tried(highest: int) -> None:
    chance = random.Random(highest)
    for _number in range(300):
        for curve in curves(chance):
            found, runs = search(curve, highest, chance.choice([0, 64, 5000]))
            best = exhaustive(curve, highest)
            assert runs <= MOST_RUNS
            assert best / 1.05 <= found <= best


def test_a_good_guess_and_a_plain_server_need_fewer_runs() -> None:
    taken = [search(lambda clients, at=at: clients / at, 512, 64)[1] for at in range(20, 500, 7)]
    assert sum(taken) / len(taken) < 5


def test_levels_are_near_enough_and_few_enough() -> None:
    found = levels(MOST_CLIENTS)
    assert found[:21] == list(range(1, 22))
    assert all(above <= max(below + 1, below * 1.05) for below, above in zip(found, found[1:]))
    assert len(found) < 1 << MOST_RUNS


@pytest.mark.parametrize("highest", [0, MOST_CLIENTS + 1])
def test_more_than_can_be_told_apart_is_refused(highest: int) -> None:
    with pytest.raises(GaudiError, match=f"highest is {highest}; give a number of clients from 1 to 2048"):
        levels(highest)


def test_the_worst_of_the_limits_decides() -> None:
    figures = {"failed": 0, "first_token_ms": {"p95": 300.0}, "between_tokens_ms": {"p95": 30.0}}
    assert misses(figures, Limits(first_token_ms=600)) == 0.5
    assert misses(figures, Limits(600, 20)) == 1.5
    assert misses({**figures, "failed": 1}, Limits(600, 20)) == FAILED
    assert not Limits()
