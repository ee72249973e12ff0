# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A part of many rows for ``make test``, drawn anew in each run, and all of them for ``make test-long``."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar

import pytest

Row = TypeVar("Row")
# Set by a run of the gates, which prints it; who starts pytest by hand has the same rows each time.
SEED = "GATE_SEED"
# The mark of a test that one run of so many plays, and each long run. What the table of capabilities names has none.
IN_TURN, TURNS = "in_turn", 8


def each(nth: int) -> pytest.MarkDecorator:
    """Gives a test the argument ``nth`` for :func:`rows_of`: this one, and 1 in the long run.

    A number that divides no inner loop's length has all of its rows in turn.
    """
    return pytest.mark.parametrize(
        "nth", [pytest.param(nth, id=f"each {nth}th"), pytest.param(1, id="all", marks=pytest.mark.long)]
    )


def rows_of(rows: Iterable[Row], nth: int) -> Iterator[Row]:
    """Each ``nth`` of ``rows``, from one on that the run's seed draws: ``nth`` seeds in a row have all of them."""
    return islice(rows, int(os.environ.get(SEED, "0")) % nth, None, nth)


def named_rows(rows: Mapping[str, Any], short: Collection[str]) -> list[Any]:
    """Parameters for a test, each with its name: those of ``short`` for ``make test``, and all in the long run."""
    return [
        pytest.param(
            *(row if isinstance(row, tuple) else (row,)), id=name, marks=() if name in short else pytest.mark.long
        )
        for name, row in rows.items()
    ]


# Before pytest itself looks at the marks.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Marks as rows of the long run what has its turn in another run than this one; a conftest's hook.

    Neighbors have their turns in different runs, so that runs take about as long as each other. Tests of a file that
    build on each other have one word in their mark, and their turn together. Without a seed none has its turn, as where
    it is asked what every run plays.
    """
    waiting: dict[str, list[pytest.Item]] = {}
    for item in items:
        for marked in islice(item.iter_markers(IN_TURN), 1):
            place = f"{item.nodeid.partition('::')[0]} {marked.args[0]}" if marked.args else item.nodeid
            waiting.setdefault(place, []).append(item)
    seed = os.environ.get(SEED)
    for number, tests in enumerate(waiting.values()):
        if seed is None or (number + int(seed)) % TURNS:
            for item in tests:
                item.add_marker(pytest.mark.long)
