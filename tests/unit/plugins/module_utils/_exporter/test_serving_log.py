# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Tokens of an instance over time, by what its counters said each minute."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.server_metrics import ServerMetrics
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.server_readings import ServerReading
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.serving_log import (
    Answered,
    Count,
    answered,
    note,
    read,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._serving.control import Control

# Noon of a day.
NOON = 1_700_049_600.0


def reading(generated: float, started: float = 10.0, answers: bool = True) -> ServerReading:
    control = Control("chat", "::", 1, "m", "/m", "", (0,), "0.26.0", "u.service")
    values = {"prompt_tokens_total": 4 * generated, "generation_tokens_total": generated}
    return ServerReading(control, started, answers, ServerMetrics(values))


def test_a_line_a_minute_is_kept_and_read_again(tmp_path: Path) -> None:
    # The age of a file is that of the disk's clock.
    now = time.time()
    note(tmp_path, [reading(100)], now)
    note(tmp_path, [reading(200)], now + 20)
    note(tmp_path, [reading(300)], now + 61)
    note(tmp_path, [reading(400, answers=False)], now + 200)
    found = read(tmp_path, "chat", now - 10, now + 100)
    assert [(count.started, count.prompt, count.generated) for count in found] == [(10, 400, 100), (10, 1200, 300)]
    assert read(tmp_path, "another", now - 10, now + 100) == []


def counts(*told: tuple[float, float, float]) -> list[Count]:
    """(minute, when it was started, tokens)."""
    return [Count(60.0 * minute, 60.0 * started, 2 * tokens, tokens) for minute, started, tokens in told]


@pytest.mark.parametrize(
    ("told", "begin", "end", "tokens", "known"),
    [
        # It answers a hundred a minute.
        ([(0, 0, 0), (1, 0, 100), (2, 0, 200)], 0, 2, 200, 2),
        # Half a minute on either side.
        ([(0, 0, 0), (1, 0, 100), (2, 0, 200)], 0.5, 1.5, 100, 1),
        # Before the first line and after the last nothing is known.
        ([(5, 0, 100), (6, 0, 200)], 0, 10, 100, 1),
        # It was started again half a minute after the first line.
        ([(0, 0, 900), (1, 0.5, 50), (2, 0.5, 150)], 0, 2, 150, 2),
        # Nobody looked for an hour, and its counter went on.
        ([(0, 0, 0), (60, 0, 6000)], 0, 60, 6000, 60),
        # Nobody looked for an hour, in which it was started again: what the first run answered is not known.
        ([(0, 0, 0), (60, 30, 3000)], 0, 60, 3000, 0),
        ([], 0, 10, 0, 0),
    ],
)
def test_tokens_of_a_period(
    told: list[tuple[float, float, float]], begin: float, end: float, tokens: float, known: float
) -> None:
    found = answered(counts(*told), 60 * begin, 60 * end)
    assert found == Answered(2 * tokens, tokens, 60 * known)


@pytest.mark.parametrize(
    "line", ["[]", "{", '{"time": 1}', '{"time": 1, "servings": {"chat": [1]}}', '{"servings": 3}']
)
def test_a_line_that_is_none_is_left_out(tmp_path: Path, line: str) -> None:
    (tmp_path / "2023-11-15.jsonl").write_text(f"{line}\n")
    assert read(tmp_path, "chat", NOON, NOON + 60) == []
