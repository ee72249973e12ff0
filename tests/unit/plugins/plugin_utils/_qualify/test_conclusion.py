# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""What a qualification comes to: the baseline, who stays out of service, the page, JUnit and the exit code."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.baseline import baseline_of, taken_baseline
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.conclusion import (
    About,
    data_of,
    held_against,
    kept_out,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._qualify.funnel import qualify
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.junit import Case, exit_code, junit_xml
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.qualify_nodes_kind import qualify_nodes_kind
from ansible_collections.gaudi3.scale.plugins.plugin_utils._variables_file import variables_file
from ansible_collections.gaudi3.scale.tests.unit.plugins.plugin_utils._qualify.fleet import Fleet

NAMES = ("a", "b", "c", "d")
# A node whose libraries load slowly, and one that answers no more.
LATE: dict[str, Any] = {"late": {("qualify-pair", "c"): ""}, "gone": {("qualify-node", "b")}}


def qualified(**faults: Any) -> dict[str, Any]:
    fleet = Fleet(*NAMES, **faults)
    found = qualify(fleet.names, fleet.wishes(), fleet.over())
    return json.loads(json.dumps(data_of(found, About("quick", "2026-11-25T12:00:00Z", "hpu", 2), 0)))


def saved(data: dict[str, Any]) -> dict[str, Any]:
    return taken_baseline(json.loads(json.dumps(baseline_of({"data": data}, "q.json"))), "b.json")


def test_a_baseline_has_every_rate_of_healthy_nodes_and_no_loss() -> None:
    kept = saved(qualified(rates={"d": 5.0}))
    assert kept["nodes"] == ["a", "b", "c"]
    places = set(kept["figures"])
    assert {"card a module 0 matmul_tflops", "pair a b busbw_gb_per_s", "node a busbw_gb_per_s"} <= places
    assert not [place for place in places if " d " in f"{place} " or "loss" in place]


def test_the_same_again_has_lost_nothing() -> None:
    data = qualified()
    assert held_against(data, saved(data), 0.05) == data


@pytest.mark.parametrize(("rate", "named"), [(9.6, []), (9.4, ["a"])])
def test_what_is_more_than_a_twentieth_slower_is_named_and_still_used(rate: float, named: list[str]) -> None:
    before = saved(qualified())
    found = held_against(qualified(slow_cards={("a", 0): 40 * rate}), before, 0.05)
    assert [name for name, node in found["nodes"].items() if node["remarks"]] == named
    assert found["hosts"] == list(NAMES)
    for name in named:
        assert found["nodes"][name]["action"] == "watch"
        assert "card a module 0: matmul_tflops is 376, 6% below the 400" in found["nodes"][name]["remarks"][0]


def test_a_baseline_of_another_release_is_told_and_not_compared() -> None:
    before = {**saved(qualified()), "release": "1.23.0"}
    found = held_against(qualified(slow_cards={("a", 0): 1.0}), before, 0.05)
    assert "which was made with release 1.23.0 and not 1.24.1; save a new one." in found["notes"][0]
    assert not found["nodes"]["b"]["remarks"]


@pytest.mark.parametrize("document", [None, [], {}, {"data": {}}, {"data": {"nodes": {"a": 1}}}, {"rows": []}])
def test_a_baseline_is_made_of_a_qualification_and_of_nothing_else(document: Any) -> None:
    with pytest.raises(GaudiError, match=r"q\.json is not a report of qualify_nodes\.yml|has no figure"):
        baseline_of(document, "q.json")
    with pytest.raises(GaudiError, match=r"b\.json is not a baseline"):
        taken_baseline(document, "b.json")


def test_more_bad_nodes_than_the_share_are_all_given_back() -> None:
    one, two = qualified(rates={"d": 5.0}), qualified(alone={"c": "hot.", "d": "hot."})
    assert kept_out(one, 0.1) == (["d"], "")
    out, why = kept_out(two, 0.1)
    assert out == [] and "2 of 4 nodes are unhealthy, more than the 1 that" in why
    assert kept_out(two, 0.5) == (["c", "d"], "")


def made(data: dict[str, Any]) -> Any:
    hosts = {name: {"inventory_hostname": name} for name in (*NAMES, "gone")}
    hosts["b"]["gaudi_qualify_result"] = {"data": data, "kept_out": []}
    return qualify_nodes_kind(Asked(hosts, {}, False))


def test_the_report_has_a_line_a_node_a_cell_a_pair_and_the_hosts_of_the_next_job() -> None:
    report = made(qualified(rates={"d": 5.0}, cut=[("a", "b")]))
    rows = {row["node"]: row for row in report.options["rows"]}
    assert (rows["d"]["verdict"], rows["d"]["collectives"]) == ("failed", "failed: 5 GB/s")
    assert rows["gone"]["verdict"] == "inconclusive"
    (square,) = report.options["heat_maps"]
    assert [cell["bad"] for cell in square["cells"] if {cell["row"], cell["column"]} == {0, 1}] == [True]
    (file,) = report.options["files"]
    text = variables_file(file["heading"], file["variables"])
    assert "excluded: d: the all-reduce over its own cards has 5 GB/s" in text
    loaded = yaml.load(text.replace("!unsafe ", ""), yaml.SafeLoader)
    assert set(loaded["gaudi_training_hosts"]) < {*NAMES} and "d" not in loaded["gaudi_training_hosts"]
    assert set(report.reasons) == {"d"}
    assert exit_code(report.cases) == 1


def test_healthy_nodes_come_to_0_and_unknown_ones_to_2() -> None:
    everybody = {name: {"inventory_hostname": name, "gaudi_qualify_result": {}} for name in NAMES}
    well = {**everybody, "a": {"gaudi_qualify_result": {"data": qualified()}}}
    assert exit_code(qualify_nodes_kind(Asked(well, {}, False)).cases or []) == 0
    assert exit_code(made(qualified()).cases) == 2
    nothing = qualify_nodes_kind(Asked({"a": {"gaudi_qualify_result": {"msg": "sizes is []"}}}, {}, False))
    assert (nothing.refusal, exit_code(nothing.cases or [])) == ("sizes is []", 2)


@pytest.mark.parametrize(
    "faults", [{}, {"rates": {"d": 5.0}}, {"cut": [("a", "b")]}, {"deaf": ["a"]}, {"wrong": {"b": 0}}, LATE]
)
def test_the_json_is_as_its_schema_says(faults: dict[str, Any]) -> None:
    schema = json.loads((Path(__file__).parents[5] / "docs" / "qualify_nodes.schema.json").read_text())
    report = made(qualified(**faults))
    jsonschema.validate({"exit_code": exit_code(report.cases), **report.options}, schema)
    # It knows what it does not know.
    broken = json.loads(json.dumps(report.options))
    broken["data"]["nodes"]["a"]["state"] = "fine"
    with pytest.raises(jsonschema.ValidationError, match="'fine' is not one of"):
        jsonschema.validate({"exit_code": 0, **broken}, schema)


def test_what_a_node_says_is_text_in_junit() -> None:
    hostile = ']]></failure><x>\x00\x1b[31m \ud800 \ufffe&"'
    cases = [
        Case("a", "pairs", "failed", hostile, 1.5),
        Case(hostile, "b", "unknown", hostile),
        Case("c", "d", "passed"),
    ]
    suites = ET.fromstring(junit_xml(hostile, cases).encode("utf-8"))
    assert [len(case) for case in suites.iter("testcase")] == [1, 1, 0]
    assert suites[0].attrib["failures"] == suites[0].attrib["skipped"] == "1"
    assert exit_code(cases) == 1
    assert exit_code([]) == 2


def test_a_pair_whose_time_was_over_is_marked_late_and_not_crossed_out() -> None:
    """It is in no link, and no node is bad by it."""
    late = {("qualify-pair", name): "measuring" for name in NAMES}
    data = qualified(late=late)
    report = made(data)
    assert {pair["late"] for pair in data["pairs"]} == {True}
    (square,) = report.options["heat_maps"]
    assert {cell["bad"] for cell in square["cells"]} == {False}
    assert report.reasons == {} and exit_code(report.cases) == 2
    assert {row["action"] for row in report.options["rows"] if row["node"] != "gone"} == {"again"}
    assert report.options["files"] == []
