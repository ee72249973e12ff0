# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Which nodes work in which round, without any node."""

from __future__ import annotations

from ansible_collections.gaudi3.scale.plugins.plugin_utils._batch.rounds import probe_all
from ansible_collections.gaudi3.scale.tests.unit.module_answers import probe_answer

AWAY = {"unreachable": True, "msg": "No route to host"}
CRASHED = {"failed": True, "msg": "it crashed", "key": "k"}


def answer(size=None, key="k"):
    return {**probe_answer(size), "key": key}


def play(answers, check_mode=False):
    """``answers``: of each node, one after the other, the first of a look; returns the results and who was asked."""
    asked, shown = [], []

    def probe(hosts, size, looks):
        asked.append(("look" if looks else size, list(hosts)))
        return {host: answers[host].pop(0) for host in hosts}

    return probe_all(list(answers), probe, shown.append, check_mode=check_mode), asked, shown


def test_one_of_each_kind_searches_and_the_others_verify_the_least():
    results, asked, shown = play(
        {"n1": [answer(), answer(16)], "n2": [answer(), answer(8)], "n3": [answer(key="o"), answer(8, key="o")]}
    )
    assert asked == [("look", ["n1", "n2", "n3"]), (None, ["n1", "n3"]), (8, ["n2"])]
    assert [result["batch_size"] for result in results.values()] == [16, 8, 8]
    assert shown == ["Searching on one node of each kind: n1, n3.", "Verifying batch size 8 on n2."]


def test_where_one_fails_the_next_of_its_kind_searches():
    results, asked, _shown = play({"n1": [answer(), CRASHED], "n2": [answer(), answer(16)]})
    assert asked[1:] == [(None, ["n1"]), (None, ["n2"])]
    assert (results["n1"]["failed"], results["n2"]["batch_size"]) == (True, 16)


def test_one_that_is_away_stops_no_other():
    results, asked, _shown = play({"n1": [AWAY], "n2": [answer(), answer(16)]})
    assert asked[1:] == [(None, ["n2"])]
    assert results["n1"] == AWAY


def test_what_is_known_costs_no_round():
    _results, asked, shown = play({"n1": [answer(16)], "n2": [answer(16)]})
    assert (asked, shown) == ([("look", ["n1", "n2"])], [])


def test_in_check_mode_nothing_is_tried():
    _results, asked, _shown = play({"n1": [answer()]}, check_mode=True)
    assert asked == [("look", ["n1"])]
