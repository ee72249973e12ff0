# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from dataclasses import replace

from ansible_collections.gaudi3.scale.plugins.plugin_utils._report.page import report_page
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.upgrade_report import upgrade_report
from ansible_collections.gaudi3.scale.tests.unit.planned_node import KERNEL, NODE, VIRGIN, plan

LOST = {"unreachable": True, "msg": "Task failed: ssh: connect to host n8 port 22: timed out\nmore"}
BROKEN = {"failed": True, "msg": "Release '9.9' is not known."}


def lines(section):
    return {row["what"]: (row["has"], row["wants"], row["changes"]) for row in section["rows"]}


def test_equal_nodes_are_one_line_and_the_largest_group_comes_first():
    report = upgrade_report({"n1": plan(VIRGIN), "n2": plan(), "n3": plan()})
    assert report["title"] == "What release 1.24.1 would change (nothing was changed)"
    assert [(row["group"], row["nodes"], row["driver"], row["changes"]) for row in report["rows"]] == [
        ("1", "n2, n3", "1.23.0-2eae87a", 4),
        ("2", "n1", "none", 4),
    ]
    assert [section["title"] for section in report["sections"]] == [
        "Group 1: n2, n3: compatible",
        "Group 2: n1: compatible",
    ]


def test_a_group_shows_what_it_has_what_the_release_wants_and_what_changes():
    (section,) = upgrade_report({"n1": plan()})["sections"]
    table = lines(section)
    assert table["operating system"][:1] == ("ubuntu-24.04",)
    assert table["kernel"] == (KERNEL, ["6.8"], None)
    assert table["2 of the vendor's packages"] == ("1.23.0-695", "1.24.1-482", "yes")
    assert table["loaded driver"] == ("1.23.0-2eae87a", "1.24.1", "yes")


def test_what_stays_is_shown_without_a_change():
    (section,) = upgrade_report({"n1": plan(release="1.23.0")})["sections"]
    assert lines(section)["2 of the vendor's packages"] == ("1.23.0-695", "1.23.0-695", None)
    assert lines(section)["loaded driver"] == ("1.23.0-2eae87a", "1.23.0", None)
    assert all(row["changes"] is None for row in section["rows"])


def test_nodes_that_are_equal_but_want_different_releases_are_two_groups():
    report = upgrade_report({"n1": plan(), "n2": plan(release="1.22.0")})
    assert [row["wants"] for row in report["rows"]] == ["1.24.1-482", "1.22.0-740"]
    assert report["title"].startswith("What release 1.24.1 or 1.22.0 would change")


def test_what_holds_a_card_names_its_node_and_does_not_split_the_group():
    report = upgrade_report({"n1": plan(), "n2": plan(replace(NODE, holders=("process 7 (python)",)))})
    (row,) = report["rows"]
    assert (row["nodes"], row["blockers"]) == ("n1, n2", 1)
    assert any(note.startswith("blocker on n2: A card is held by process 7") for note in report["sections"][0]["notes"])


def test_a_reason_that_stands_in_the_way_is_said_once():
    notes = upgrade_report({"n1": plan(replace(NODE, os="debian-12"))})["sections"][0]["notes"]
    assert len([note for note in notes if "not validated on debian-12" in note]) == 1


def test_nodes_without_an_answer_are_lines_with_their_reason():
    report = upgrade_report({"n1": plan(), "n8": LOST, "n9": BROKEN, "n10": BROKEN})
    assert report["states"] == {"n1": "compatible", "n8": "unreachable", "n9": "failed", "n10": "failed"}
    assert [(row["nodes"], row["verdict"]) for row in report["rows"][1:]] == [
        ("n8", "unreachable"),
        ("n9", "failed"),
        ("n10", "failed"),
    ]
    assert "n8: unreachable: ssh: connect to host n8 port 22: timed out" in report["notes"]
    assert "n9, n10: failed: Release '9.9' is not known." in report["notes"]


def test_a_fleet_that_is_all_silent_is_still_a_report():
    report = upgrade_report({"n9": BROKEN})
    assert (len(report["rows"]), report["sections"], report["data"]) == (1, [], [])
    assert "the wanted release" in report["title"]


def test_a_long_list_of_nodes_is_cut_in_the_table_and_whole_below_it():
    hosts = [f"n{number}" for number in range(1, 65)]
    report = upgrade_report({host: plan() for host in hosts})
    assert report["rows"][0]["nodes"] == "n1, n2, n3 and 61 more (64)"
    assert f"nodes: {', '.join(hosts)}" in report["sections"][0]["notes"]


def test_the_whole_report_is_json_and_a_page():
    report = upgrade_report({"n1": plan(), "n8": LOST})
    assert json.loads(json.dumps(report))["data"][0]["nodes"]["n1"]["facts"]["driver"] == "1.23.0-2eae87a"
    page = report_page("T", subtitle="", **{name: report[name] for name in ("rows", "columns", "notes", "sections")})
    assert page.count("<table") == 2
    assert '<td class="good">compatible</td>' in page
    assert '<td class="bad">unreachable</td>' in page
    assert "src=" not in page
    assert "href=" not in page
