# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Energy out of samples: a square wave within one percent, and what nobody knows counted apart."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._exporter.energy import Energy, after, from_data

INTERVAL = 15.0


def integrated(watts: list[float | None], interval: float = INTERVAL) -> Energy:
    energy = Energy()
    for place, value in enumerate(watts):
        energy = after(energy, value, 1000.0 + place * interval, interval)
    return energy


def test_a_steady_load_is_its_power_times_its_time() -> None:
    assert integrated([500.0] * 241).joules == 500.0 * 3600
    assert integrated([500.0] * 241).gap_seconds == 0


@pytest.mark.parametrize("period", [60.0, 100.0, 600.0])
def test_a_square_wave_is_within_one_percent(period: float) -> None:
    """226 W and 850 W in turn, for as many whole periods as last a day."""
    day = int(86400 // period) * period
    samples: list[float | None] = [
        850.0 if (place * INTERVAL) % period < period / 2 else 226.0 for place in range(int(day / INTERVAL) + 1)
    ]
    assert integrated(samples).joules == pytest.approx((850 + 226) / 2 * day, rel=0.01)


def test_a_sample_that_is_missing_is_a_gap_and_no_energy() -> None:
    energy = integrated([100.0, 100.0, None, 100.0, 100.0])
    assert (energy.joules, energy.gap_seconds) == (2 * 15 * 100.0, 30.0)


@pytest.mark.parametrize(("interval", "apart", "is_known"), [(1, 2.75, True), (1, 30, False), (60, 120, True)])
def test_a_sample_is_near_as_hl_smi_is_and_not_only_as_it_is_asked(
    interval: float, apart: float, is_known: bool
) -> None:
    """hl-smi takes a second and a half, which at an interval of a second is no sample that was left out."""
    energy = after(after(Energy(), 100.0, 1000.0, interval), 100.0, 1000.0 + apart, interval)
    assert (energy.joules, energy.gap_seconds) == ((100 * apart, 0) if is_known else (0, apart))


def test_a_node_that_was_off_spent_nothing_that_is_known() -> None:
    before = integrated([100.0, 100.0])
    later = after(before, 100.0, before.time + 3600, INTERVAL)
    assert (later.joules, later.gap_seconds) == (before.joules, 3600.0)


def test_a_clock_that_went_back_takes_nothing_away() -> None:
    before = integrated([100.0, 100.0])
    later = after(before, 100.0, before.time - 3600, INTERVAL)
    assert (later.joules, later.gap_seconds) == (before.joules, before.gap_seconds)
    assert after(later, 100.0, later.time + 15, INTERVAL).joules == before.joules + 1500


@pytest.mark.parametrize("kept", [{}, {"joules": "many"}, {"joules": 1, "gap_seconds": None, "time": 1, "watts": 1}])
def test_what_was_kept_by_nobody_begins_anew(kept: dict[str, object]) -> None:
    assert from_data(kept) == Energy()
