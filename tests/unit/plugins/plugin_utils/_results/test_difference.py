# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.difference import node_difference
from ansible_collections.gaudi3.scale.tests.unit.planned_node import NODE, plan

ODD = plan(replace(NODE, kernel="6.8.0-48-generic"))
GAUDI_2 = plan(replace(NODE, generations=("gaudi2",), boards=("HL-225",)))
LOST = {"unreachable": True, "msg": "timed out"}


def test_each_field_has_the_majority_its_count_and_the_nodes_own_value():
    report = node_difference({"n1": plan(), "n2": ODD, "n3": plan()}, "n2")
    assert report["rows"] == [
        {
            "field": "kernel",
            "majority": "6.8.0-45-generic",
            "nodes with it": "2 of 3",
            "this node": "6.8.0-48-generic",
        }
    ]
    assert report["notes"] == ["n2 differs from the majority of the 3 nodes with Gaudi 3 cards in 1 field."]


def test_a_node_like_the_others_is_told_in_a_sentence():
    report = node_difference({"n1": plan(), "n2": ODD, "n3": plan()}, "n1")
    assert report["rows"] == []
    assert report["notes"][0].startswith("n1 is like the majority of the 3 nodes with Gaudi 3 cards in all of its ")


def test_the_only_node_has_nothing_to_be_compared_with():
    report = node_difference({"n1": plan()}, "n1")
    assert report["notes"] == [
        "n1 is the only node with Gaudi 3 cards that responded: there is nothing to compare it with."
    ]


def test_another_generation_and_the_silent_are_left_out_by_name():
    results = {"n1": plan(), "n2": ODD, "n3": GAUDI_2, "n4": LOST}
    report = node_difference(results, "n2")
    assert report["rows"][0]["nodes with it"] == "1 of 2"
    assert "there is no majority" in report["notes"][1]
    assert report["notes"][2:] == [
        "not compared, because they did not respond: n4",
        "not compared, because their cards are of another generation: n3",
    ]


def test_all_generations_are_compared_where_that_is_asked_for():
    report = node_difference({"n1": plan(), "n2": GAUDI_2, "n3": plan()}, "n2", same_generation=False)
    assert [row["field"] for row in report["rows"]] == ["generation", "board"]
    assert report["notes"] == ["n2 differs from the majority of the 3 nodes in 2 fields."]


@pytest.mark.parametrize(("results", "words"), [({"n2": LOST}, ["unreachable", "timed out"]), ({}, ["not inspected"])])
def test_a_node_of_which_nothing_is_known_is_refused_in_a_sentence(results, words):
    with pytest.raises(GaudiError) as error:
        node_difference({"n1": plan(), **results}, "n2")
    assert all(word in str(error.value) for word in ["n2", "gaudi_hosts", *words])


def test_a_clock_that_is_kept_low_is_a_difference_and_in_no_fingerprint():
    cool, hot = (plan(replace(NODE, throttled=reasons, throttled_ever=reasons)) for reasons in ((), ("thermal",)))
    report = node_difference({"n1": cool, "n2": hot, "n3": cool}, "n2")
    assert [(row["field"], row["majority"], row["this node"]) for row in report["rows"]] == [
        ("clock reduced now for", "nothing", "thermal"),
        ("clock reduced since the driver was loaded for", "nothing", "thermal"),
    ]
    assert cool["fingerprint"] == hot["fingerprint"]
