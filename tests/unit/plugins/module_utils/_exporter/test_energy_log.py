# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Energy of a period from lines a minute apart: as it was, and never where nobody knows."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.energy import Energy, after
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.energy_log import Reading, note, read, used

# 2026-11-25, 12:00 UTC.
NOON = 1795608000.0
CARD, OTHER = "0000:19:00.0", "0000:b3:00.0"
MINUTES = [Reading(60.0 * minute, 6000.0 * minute, 0.0) for minute in range(11)]


def noted(directory: Path, watts, seconds: float, interval: float = 15.0, begin: float = NOON) -> None:
    """As the collector does it, with a clock of its own."""
    energy, now = Energy(), begin
    while now <= begin + seconds:
        energy = after(energy, watts(now - begin), now, interval)
        for path in directory.glob("*.jsonl"):
            # Of the clock here the file is always new.
            os.utime(path, (0, getattr(noted, "last", 0)))
        lines = sum(len(path.read_text().splitlines()) for path in directory.glob("*.jsonl"))
        note(directory, {CARD: energy}, now)
        if sum(len(path.read_text().splitlines()) for path in directory.glob("*.jsonl")) > lines:
            noted.last = now
        now += interval


def test_even_power_is_told_of_any_period():
    assert used(MINUTES, 60, 180) == used(MINUTES, 75, 195)
    assert used(MINUTES, 60, 180).joules == 12000
    assert used(MINUTES, 60, 180).gap_seconds == 0


def test_what_is_before_the_first_line_and_after_the_last_is_a_gap():
    found = used(MINUTES, -60, 660)
    assert (found.joules, found.gap_seconds) == (60000, 120)
    assert used([], 0, 90) == used(MINUTES[:1], 0, 90)
    assert used([], 0, 90).gap_seconds == 90


def test_a_counter_that_began_anew_gives_no_energy_back():
    anew = [*MINUTES[:5], Reading(300, 0.0, 0.0), Reading(360, 6000.0, 0.0)]
    found = used(anew, 0, 360)
    assert (found.joules, found.gap_seconds) == (24000 + 6000, 60)


def test_a_gap_of_the_collector_s_is_a_gap_of_the_period():
    holed = [Reading(0, 0.0, 0.0), Reading(60, 3000.0, 30.0), Reading(120, 9000.0, 30.0)]
    assert used(holed, 0, 120).gap_seconds == 30
    assert used(holed, 60, 120).gap_seconds == 0


def test_square_waves_of_power_come_back_within_one_percent(tmp_path):
    noted(tmp_path, lambda second: 800.0 if second % 600 < 300 else 200.0, 6 * 3600)
    found = used(read(tmp_path, NOON + 600, NOON + 4 * 3600)[CARD], NOON + 600, NOON + 4 * 3600)
    assert found.joules == pytest.approx(500.0 * (4 * 3600 - 600), rel=0.01)
    assert found.gap_seconds < 1


def test_a_period_over_midnight_is_in_two_days(tmp_path):
    begin = NOON + 12 * 3600 - 300
    noted(tmp_path, lambda _second: 100.0, 900, begin=begin)
    assert len([*tmp_path.glob("*.jsonl")]) == 2
    found = used(read(tmp_path, begin + 60, begin + 600)[CARD], begin + 60, begin + 600)
    assert (found.joules, found.gap_seconds) == (pytest.approx(54000, rel=0.01), pytest.approx(0, abs=1))


def test_a_line_a_minute_and_days_of_long_ago_go(tmp_path):
    old = tmp_path / "2026-10-01.jsonl"
    old.write_text("{}\n")
    near = tmp_path / "2026-10-30.jsonl"
    near.write_text("{}\n")
    note(tmp_path, {CARD: Energy(1.0, 0.0, NOON, 100.0), OTHER: Energy()}, NOON)
    assert not old.exists() and near.exists()
    today = tmp_path / "2026-11-25.jsonl"
    os.utime(today, (NOON, NOON))
    note(tmp_path, {CARD: Energy()}, NOON + 45)
    assert len(today.read_text().splitlines()) == 1
    note(tmp_path, {CARD: Energy()}, NOON + 61)
    assert len(today.read_text().splitlines()) == 2


def test_a_period_of_all_time_is_read_like_any_other(tmp_path):
    note(tmp_path, {CARD: Energy(5.0, 0.0, NOON, 1.0)}, NOON)
    assert read(tmp_path, 0, 1e15) == {CARD: [Reading(NOON, 5.0, 0.0)]}
    assert read(tmp_path / "missing", 0, 1e15) == {}


def test_nothing_is_written_where_no_card_answered(tmp_path):
    note(tmp_path / "energy", {}, NOON)
    assert not (tmp_path / "energy").exists()


@pytest.mark.parametrize(
    "line", ["", "[]", '{"time": "x", "cards": {}}', '{"time": 1, "cards": {"a": [1]}}', '{"cards":']
)
def test_a_line_that_is_none_is_left_out(tmp_path, line):
    note(tmp_path, {CARD: Energy(5.0, 0.0, NOON, 1.0)}, NOON)
    today = tmp_path / "2026-11-25.jsonl"
    today.write_text(f"{today.read_text()}{line}\n")
    assert read(tmp_path, NOON - 60, NOON + 60) == {CARD: [Reading(NOON, 5.0, 0.0)]}
