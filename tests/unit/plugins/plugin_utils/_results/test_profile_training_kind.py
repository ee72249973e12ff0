# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What nodes read of a profile as one verdict, and answers of nodes that are none."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._profile.records import as_data
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.profile_training_kind import (
    PROFILED,
    profile_training_kind,
)

from tests.unit.plugins.module_utils._profile.made_records import More, ranks

HOSTS = ("gaudi-01", "gaudi-02")


def answers(count: int = 4, more: More | None = None, **change: Any) -> dict[str, dict[str, Any]]:
    """Of two nodes, each with half of the ranks, which call themselves n0 and n1."""
    half = count // 2
    data = [{**as_data(record), **change} for record in ranks(count, more=more)]
    return {
        host: {"records": data[place * half : (place + 1) * half], "traces": []} for place, host in enumerate(HOSTS)
    }


def made(results: dict[str, dict[str, Any]]) -> Made:
    hosts = {host: {PROFILED: results[host]} if host in results else {} for host in HOSTS}
    return profile_training_kind(Asked(hosts, {"job": "llama"}, False))


def test_both_nodes_are_one_verdict_by_the_inventorys_names():
    report = made(answers(more={2: {"backward": 0.05}}))
    assert (report.refusal, report.reasons, report.outcome["ok"]) == ("", {}, True)
    (row,) = report.options["rows"]
    assert (row["share"], row["cause"]) == ("33%", "a slow rank: all others wait for it")
    assert "rank 2 on gaudi-02: 50.0 ms" in row["evidence"]
    assert "--limit gaudi-02" in row["next"]
    assert report.options["data"]["verdict"]["causes"][0]["node"] == "gaudi-02"


def test_a_trace_counts():
    results = answers(more={rank: {"forward": 0.06} for rank in range(4)})
    parts = dict.fromkeys(("data", "communication", "moved"), 0.0)
    summary = {"rank": 0, "steps": 3, "seconds": 0.48, "computed": 0.24, "gap": 0.24, **parts}
    results["gaudi-01"]["traces"] = [{**summary, "has_card": False, "events": 9, "top": [], "top_moves": []}]
    assert [row["cause"][:10] for row in made(results).options["rows"]] == ["host-bound"]


def test_half_of_the_ranks_are_not_enough_and_no_refusal():
    results = answers()
    report = made(
        {"gaudi-01": results["gaudi-01"], "gaudi-02": {"msg": "The job llama has no profile", "failed": True}}
    )
    assert (report.refusal, report.outcome["ok"]) == ("", False)
    assert report.options["notes"][0] == "Not enough seen: 2 of 4 ranks have a profile; gather those of all nodes"
    assert report.reasons == {"gaudi-02": "The job llama has no profile"}


def test_nothing_to_judge_is_a_refusal():
    nothing = {host: {"msg": "This node knows no job llama; launch it, or give directory."} for host in HOSTS}
    report = made(nothing)
    assert report.refusal == "This node knows no job llama; launch it, or give directory."
    assert report.options["rows"] == []
    assert made({}).refusal


def test_profiles_of_two_trainings_are_refused():
    results = answers()
    results["gaudi-02"]["records"] = answers(8)["gaudi-02"]["records"]
    assert "profiles of trainings with 4 and 8 ranks" in made(results).refusal


@pytest.mark.parametrize(
    "change",
    [{"steps": 3}, {"rank": "0"}, {"node": "a\nb"}, {"memory_peak": 1e300}, {"schema": 9}],
)
def test_an_answer_that_no_node_of_ours_gives_is_not_used(change):
    results = {**answers(), "gaudi-02": answers(**change)["gaudi-02"]}
    reason = made(results).reasons["gaudi-02"]
    assert reason.startswith("gaudi-02 answered gaudi3.scale.training_profile with an invalid result")


def test_a_nodes_word_is_never_a_template():
    results = answers(notes=["{{ lookup('pipe', 'id') }}"])
    report = made(results)
    assert "{{" not in str(report.options)
