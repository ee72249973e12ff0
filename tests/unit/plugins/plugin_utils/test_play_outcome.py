# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._play_outcome import play_outcome

TEMPLATE = "{{ lookup('pipe', 'id') }}"


def outcome(nodes, good=("ok",), **options):
    return play_outcome(nodes, good, inventory=["n1", "n2"], **options)


def test_nodes_are_told_apart():
    assert outcome({"n1": "ok", "n2": "FAILED in driver"}) == {
        "verdict": "failed",
        "nodes": {"n1": "ok", "n2": "FAILED in driver"},
        "ok_nodes": ["n1"],
        "failed_nodes": ["n2"],
        "check_mode": False,
    }


@pytest.mark.parametrize(
    ("nodes", "ok", "verdict"),
    [
        ({"n1": "ok", "n2": "ok"}, None, "ok"),
        ({"n1": "ok", "n2": "ok"}, False, "failed"),
        ({"n1": "ok", "n2": "lost"}, True, "ok"),
        ({}, None, "failed"),
        ({}, True, "ok"),
    ],
)
def test_the_verdict_is_that_of_the_nodes_or_the_plays_own(nodes, ok, verdict):
    assert outcome(nodes, ok=ok)["verdict"] == verdict


def test_only_names_of_the_inventory_and_words_of_states_come_through():
    reported = outcome({"n1": TEMPLATE, "n2": None, TEMPLATE: "ok", "n3": "ok"}, good=["ok", TEMPLATE])
    assert reported["nodes"] == {"n1": "unclear", "n2": "unclear"}
    assert reported["ok_nodes"] == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (7, 7),
        (0.5, 0.5),
        ("7", 7),
        ("1e-3", 0.001),
        (None, None),
        (True, None),
        (float("nan"), None),
        (float("inf"), None),
        ("1e999", None),
        ("", None),
        (TEMPLATE, None),
        ([1], None),
    ],
)
def test_a_number_is_a_number(value, expected):
    assert outcome({}, numbers={"x": value})["x"] == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("s3://pages/é a/site.html", "s3://pages/é a/site.html"),
        (["1.24.1", TEMPLATE], ["1.24.1", ""]),
        (TEMPLATE, ""),
        ("{% raw %}", ""),
        ("two\nlines", ""),
        ("x" * 1001, ""),
        (7, ""),
    ],
)
def test_a_word_has_no_brace(value, expected):
    assert outcome({}, words={"x": value})["x"] == expected


def test_it_is_plain_json():
    class Tagged(str):
        __slots__ = ()

    reported = outcome({Tagged("n1"): Tagged("ok")}, words={"x": Tagged("y")})
    assert json.loads(json.dumps(reported)) == reported
    assert {type(part) for pair in reported["nodes"].items() for part in (*pair, reported["x"])} == {str}


def test_a_node_whose_restart_is_due_is_told_as_it_is():
    state = "ok, restart needed"
    reported = play_outcome({"n1": state, "n2": "ok"}, good=["ok", state], inventory=["n1", "n2"])
    assert (reported["verdict"], reported["nodes"]["n1"]) == ("ok", state)


@pytest.mark.parametrize("ok", [None, True, False])
def test_what_the_play_could_not_find_out_is_neither_well_nor_failed(ok):
    assert outcome({"n1": "ok"}, ok=ok, unclear=True)["verdict"] == "unclear"
