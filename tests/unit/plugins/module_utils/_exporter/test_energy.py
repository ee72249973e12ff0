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


def counted(period: float, day: int, since: int = 0) -> Energy:
    """The square wave above by the card's own counter, which is read as often."""
    energy = Energy()
    for place in range(int(day / INTERVAL) + 1):
        on, off = divmod(place * INTERVAL, period)
        truth = (850 + 226) / 2 * period * on + 850 * min(off, period / 2) + 226 * max(0.0, off - period / 2)
        watts = 850.0 if off < period / 2 else 226.0
        energy = after(energy, watts, 1000.0 + place * INTERVAL, INTERVAL, since + round(truth * 1000))
    return energy


@pytest.mark.parametrize("period", [7.0, 20.0, 100.0])
def test_by_the_card_s_counter_it_is_exact_where_samples_are_not(period: float) -> None:
    """A wave that is faster than the samples has a mean that they do not see."""
    day = int(86400 // period) * int(period)
    assert counted(period, day, 10**12).joules == pytest.approx((850 + 226) / 2 * day, rel=0.001)


def test_by_the_counter_a_collector_that_was_off_loses_nothing() -> None:
    before = after(after(Energy(), 100.0, 1000.0, INTERVAL, 5_000), 100.0, 1015.0, INTERVAL, 1_505_000)
    later = after(before, 100.0, before.time + 3600, INTERVAL, 1_505_000 + 3_600 * 500_000)
    assert (later.joules, later.gap_seconds) == (1500.0 + 1_800_000.0, 0.0)


def test_a_driver_that_was_loaded_again_is_bridged_by_its_power() -> None:
    before = after(Energy(), 100.0, 1000.0, INTERVAL, 9_000_000)
    again = after(before, 200.0, 1015.0, INTERVAL, 1_000)
    assert (again.joules, again.counter) == (15 * 150.0, 1_000)
    assert after(again, 200.0, 1030.0, INTERVAL, 4_001_000).joules == 15 * 150.0 + 4000


def test_a_counter_that_no_card_can_have_reached_is_none() -> None:
    before = after(Energy(), 100.0, 1000.0, INTERVAL, 0)
    assert after(before, 100.0, 1015.0, INTERVAL, 10**12).joules == 1500.0


def test_a_counter_that_does_not_tell_for_a_while_goes_on() -> None:
    before = after(Energy(), 100.0, 1000.0, INTERVAL, 1_000)
    silent = after(before, 100.0, 1015.0, INTERVAL)
    assert (silent.joules, silent.counter) == (1500.0, None)
    assert after(silent, 100.0, 1030.0, INTERVAL, 9_000).joules == 3000.0


@pytest.mark.parametrize("counter", ["9", 1.5, None, [1]])
def test_a_counter_that_was_kept_and_is_none_is_left_out(counter: object) -> None:
    data = {"joules": 1.0, "gap_seconds": 2.0, "time": 3.0, "watts": 4.0, "counter": counter}
    assert from_data(data) == Energy(1.0, 2.0, 3.0, 4.0)
    assert from_data({**data, "counter": 9}) == Energy(1.0, 2.0, 3.0, 4.0, 9)
