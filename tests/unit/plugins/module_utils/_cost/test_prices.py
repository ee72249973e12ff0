# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.platforms import (
    before_from,
    platforms_from,
    share_of,
    tokens_from,
    unlike,
    without_energy,
)
from ansible_collections.gaudi3.scale.plugins.module_utils._cost.prices import prices_from
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError

RENTED = {"currency": "EUR", "node_hour": 30}
BOUGHT = {"currency": "EUR", "capital": {"price": 160000, "years": 4, "utilization": 0.8}, "kwh": 0.21}
OTHER = {
    "name": "rack of another kind",
    "source": "our own runs in March, wiki page 412",
    "nodes": 4,
    "tokens_per_second": 1e5,
    "watts": 20000,
    "node_hour": 90,
    "kwh": 0.2,
    "pue": 1.5,
}


def test_a_bought_node_costs_its_price_over_the_hours_in_which_it_works():
    assert prices_from(BOUGHT).a_node_hour() == pytest.approx(160000 / (4 * 8766 * 0.8))
    left = {**BOUGHT, "capital": {**BOUGHT["capital"], "residual": 0.25}}
    assert prices_from(left).a_node_hour() == pytest.approx(0.75 * prices_from(BOUGHT).a_node_hour())


def test_a_joule_costs_what_the_building_takes_for_it():
    assert prices_from(RENTED).a_joule() is None
    assert prices_from({**RENTED, "kwh": 0.36, "pue": 1.5}).a_joule() == pytest.approx(1.5e-7)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"node_hour": 1}, "currency is ''; give the three-letter code"),
        ({**RENTED, "currency": "euro"}, "currency is 'euro'; give the three-letter code"),
        ({"currency": "EUR"}, "node_hour is not given, and neither is capital"),
        ({**BOUGHT, "node_hour": 3}, "node_hour is both given"),
        ({**BOUGHT, "kwh": None}, "kwh is not given, but with a purchase price the power is priced separately"),
        ({**RENTED, "kwh": 0.2, "pue": 0.9}, "pue is 0.9, but it is at least 1"),
        ({**RENTED, "kwh": -1}, "kwh is -1; give a number of 0 or more"),
        ({**RENTED, "kwh": "cheap"}, "kwh is 'cheap'; give a number"),
        ({**RENTED, "kwh": float("nan")}, "kwh is nan"),
        ({**BOUGHT, "capital": {"price": 1}}, "capital lacks years and utilization"),
        ({**BOUGHT, "capital": {"price": 1, "years": 0, "utilization": 1}}, "capital.years is 0"),
        ({**BOUGHT, "capital": {"price": 1, "years": 1, "utilization": 80}}, "capital.utilization is 80"),
        ({**BOUGHT, "capital": {"price": 1, "years": 1, "utilization": 1, "residual": 1}}, "capital.residual is 1"),
    ],
)
def test_what_nobody_can_mean_is_refused(given, sentence):
    with pytest.raises(GaudiError, match=sentence):
        prices_from(given)


def test_another_platform_costs_the_time_that_its_own_rate_takes():
    share = share_of(platforms_from([OTHER], "EUR")[0], 3.6e9)
    assert (share.hours, share.nodes) == (10, 10 * 4 * 90)
    assert share.energy == pytest.approx(200 * 0.2 * 1.5)
    assert share.total == share.nodes + share.energy


def test_power_that_has_a_price_and_was_not_measured_is_unlike_power_that_was_paid():
    measured, dark, rented = (
        share_of(platforms_from([{**OTHER, **changed}], "EUR")[0], 3.6e9)
        for changed in ({"name": "measured"}, {"name": "dark", "watts": None}, {"name": "rented", "kwh": None})
    )
    assert (unlike([measured, dark]), unlike([dark, rented]), unlike([rented, measured])) == ("dark", "dark", None)
    assert (unlike([]), unlike([dark, dark])) == (None, None)
    assert (dark.no_energy, rented.no_energy, without_energy(measured).no_energy) == ("-", "in nodes", "-")


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"source": ""}, "platforms has rack of another kind without a source"),
        ({"currency": "USD"}, "platforms has rack of another kind in USD beside EUR"),
        ({"tokens_per_second": 0}, "without tokens_per_second and nodes"),
        ({"nodes": True}, "without tokens_per_second and nodes"),
        ({"watts": "many"}, "with watts 'many'"),
        ({"pue": 0.5}, "whose pue is 0.5"),
        ({"name": " "}, "platforms has an entry without a name"),
    ],
)
def test_a_platform_that_nobody_has_measured_is_refused(changed, sentence):
    with pytest.raises(GaudiError, match=sentence):
        platforms_from([{**OTHER, **changed}], "EUR")


def test_two_platforms_of_one_name_are_refused():
    with pytest.raises(GaudiError, match="platforms has rack of another kind twice"):
        platforms_from([OTHER, OTHER], "EUR")


@pytest.mark.parametrize(("text", "tokens"), [("1T", 1e12), ("300B", 3e11), ("50m", 5e7), (1000, 1000), ("2.5K", 2500)])
def test_tokens_as_people_write_them(text, tokens):
    assert tokens_from(text) == tokens


@pytest.mark.parametrize("text", ["", "many", "-1T", 0, "1X", "T"])
def test_no_number_of_tokens_is_refused(text):
    with pytest.raises(GaudiError, match="dataset_tokens is"):
        tokens_from(text)


def test_a_rate_of_before_has_a_source():
    assert before_from({}) is None
    assert before_from({"tokens_per_second": 5, "source": "probe of May"}).tokens_per_second == 5
    for given in ({"tokens_per_second": 5}, {"source": "x"}, {"tokens_per_second": "fast", "source": "x"}):
        with pytest.raises(GaudiError, match="before lacks tokens_per_second or source"):
            before_from(given)
