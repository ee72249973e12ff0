# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Power limits before and after: equal cards in one row, and a sentence for each card that did not take its own."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.cap_power_kind import CAPPED, cap_power_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.earlier_failure import NOT_KNOWN

REFUSED = "watts (gaudi_power_watts) is 300, power outside the card's range"


def told(before=850, after=600, watts=600, msg="", odd=None, cards=8):
    """What a node says; ``odd`` is a card that kept its limit."""
    rows = [
        {
            "pci_address": f"0000:0{number}:00.0",
            "module_id": number,
            "before": before,
            "after": before if number == odd else after,
            "taken": number != odd,
        }
        for number in range(cards)
    ]
    return {CAPPED: {"watts": watts, "cards": rows, **({"msg": msg} if msg else {})}}


def made(check_mode=False, **hosts):
    return cap_power_kind(Asked(hosts, {}, check_mode))


def test_equal_cards_are_one_row_with_before_and_after():
    report = made(a=told(), b=told(before=600))
    assert report.options["title"] == "Power limit of the cards: 600 W"
    assert report.options["columns"] == ("node", "card", "before", "after", "state")
    assert report.options["rows"] == [
        {"node": "a", "card": "0-7", "before": "850 W", "after": "600 W", "state": "ok"},
        {"node": "b", "card": "0-7", "before": "600 W", "after": "600 W", "state": "ok"},
    ]
    assert report.options["data"]["nodes"]["a"]["cards"][3]["before"] == 850
    assert report.outcome["nodes"] == {"a": "ok", "b": "ok"}
    assert report.outcome["numbers"] == {"watts": "600", "cards": 16, "not_taken": 0}
    assert report.reasons == {}


def test_a_card_that_did_not_take_it_has_a_row_and_a_sentence():
    report = made(a=told(), b=told(odd=3, msg="1 of 8 cards did not accept 600 W: card 3"))
    assert report.options["rows"][1:] == [
        {"node": "b", "card": "0-2, 4-7", "before": "850 W", "after": "600 W", "state": "ok"},
        {"node": "b", "card": "3", "before": "850 W", "after": "850 W", "state": "not taken"},
    ]
    assert report.options["notes"][0] == "b: 1 of 8 cards did not accept 600 W: card 3"
    assert report.outcome["nodes"] == {"a": "ok", "b": "not taken"} and report.outcome["numbers"]["not_taken"] == 1
    assert report.reasons == {"b": "1 of 8 cards did not accept 600 W: card 3"}


def test_what_no_node_can_mean_is_said_once():
    report = made(a={CAPPED: {"msg": REFUSED}}, b={CAPPED: {"msg": REFUSED}})
    assert report.options["rows"] == [{"node": "a", "state": "not set"}, {"node": "b", "state": "not set"}]
    assert report.options["notes"][0] == f"a, b: {REFUSED}"
    assert report.options["title"] == "Power limit of the cards"
    assert report.reasons == {"a": REFUSED, "b": REFUSED}


def test_a_node_that_does_not_answer_is_not_called_capped():
    report = made(a={CAPPED: {"unreachable": True, "msg": "timed out"}}, b={})
    assert report.outcome["nodes"] == {"a": "unreachable", "b": "unreachable"}
    assert report.reasons == {"a": "timed out", "b": f"It has no result: {NOT_KNOWN}."}


def test_check_mode_says_what_would_be():
    report = made(check_mode=True, a=told(), b=told(before=600))
    assert report.options["title"] == "Power limit of the cards: 600 W (check mode: nothing was changed)"
    assert [row["state"] for row in report.options["rows"]] == ["would be set", "ok"]


def test_nodes_with_limits_of_their_own_are_told_of_with_each():
    report = made(a=told(), b=told(before=600, after=400, watts=400))
    assert report.options["title"] == "Power limit of the cards: 400, 600 W"
    assert report.outcome["numbers"]["watts"] is None


def test_a_card_that_no_driver_has_is_named_by_its_address():
    row = {"pci_address": "0000:3b:00.0", "module_id": None, "before": None, "after": None, "taken": False}
    report = made(a={CAPPED: {"watts": 600, "cards": [row], "msg": "tells no limit"}})
    assert report.options["rows"] == [
        {"node": "a", "card": "0000:3b:00.0", "before": None, "after": None, "state": "not taken"}
    ]
