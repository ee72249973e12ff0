# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""A part of many rows for ``make test``, drawn anew in each run, and all of them for ``make test-long``."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeVar

import pytest

Row = TypeVar("Row")
# Set by a run of the gates, which prints it; who starts pytest by hand has the same rows each time.
SEED = "GATE_SEED"


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
