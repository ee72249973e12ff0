# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The cost of what an instance answered."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.report_serving_cost_kind import (
    USED,
    report_serving_cost_kind,
)

GIVEN = {"serving": "chat", "hours": 10.0, "currency": "EUR", "node_hour": 16.0, "kwh": 0.25, "energy": True}
TEN_HOURS = 36000.0
# Four cards of 500 W.
FOUR = {
    "model": "books",
    "prompt_tokens": 4e8,
    "generated_tokens": 1e8,
    "known_seconds": TEN_HOURS,
    "cards": 4,
    "node_cards": 8,
    "joules": 4 * 500 * TEN_HOURS,
    "gap_seconds": 0.0,
    "card_seconds": 4 * TEN_HOURS,
}
NONE = {"failed": True, "msg": "name: chat is no instance of this node; it has none."}


def made(*used: dict[str, Any], **given: Any) -> Made:
    hosts = {f"gaudi-{number:02}": {USED: one} for number, one in enumerate(used, 1)}
    return report_serving_cost_kind(Asked(hosts, {**GIVEN, **given}, False))


def values(report: Made) -> dict[str, str]:
    return {row["figure"]: row["value"] for row in report.options["rows"]}


def test_half_a_node_for_ten_hours() -> None:
    report = made(FOUR, NONE)
    rows = values(report)
    # Half of 16 EUR for ten hours, and 20 kWh.
    assert (rows["its nodes"], rows["energy"], rows["its energy"]) == ("80.00 EUR", "20 kWh", "5.00 EUR")
    assert (rows["all of it"], rows["per million tokens answered"]) == ("85.00 EUR", "0.85 EUR")
    assert (rows["joules per token answered"], rows["generated tokens"]) == ("0.72", "100,000,000")
    assert report.outcome["nodes"] == {"gaudi-01": "ok", "gaudi-02": "no such instance"}
    assert report.outcome["numbers"] == {"total": 85.0, "a_million_tokens": 0.85, "kwh": 20.0}


def test_two_instances_add_up() -> None:
    rows = values(made(FOUR, {**FOUR, "generated_tokens": 3e8}))
    assert (rows["all of it"], rows["per million tokens answered"], rows["instances"]) == ("170.00 EUR", "0.425 EUR", 2)


def test_without_recorded_power_only_nodes_are_paid() -> None:
    report = made({**FOUR, "joules": 0.0, "gap_seconds": 0.0, "card_seconds": 0.0})
    rows = values(report)
    assert (rows["energy"], rows["all of it"]) == ("not measured", "80.00 EUR")
    assert report.outcome["numbers"]["kwh"] is None


@pytest.mark.parametrize(
    ("used", "given", "words"),
    [
        (NONE, {}, "gaudi_cost_serving chat: no host of the play has such an instance"),
        ({**FOUR, "known_seconds": 30000.0}, {}, "its tokens are known for 83% of the last 10 h, and less than 95%"),
        ({**FOUR, "generated_tokens": 0.0}, {}, "it has generated no token in the last 10 h"),
        ({**FOUR, "gap_seconds": TEN_HOURS}, {}, "the power of 25% of the run is not known"),
        ({**FOUR, "generated_tokens": "many"}, {}, "answered gaudi3.scale.serving_usage with an invalid result"),
        (FOUR, {"currency": "Euro"}, "currency is 'Euro'"),
    ],
)
def test_what_would_be_a_guess_is_refused(used: dict[str, Any], given: dict[str, Any], words: str) -> None:
    with pytest.raises(GaudiError, match=words):
        made(used, **given)
