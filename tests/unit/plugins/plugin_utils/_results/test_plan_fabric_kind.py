# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The fabric's report, from what nodes answered, some of them nothing and one of them lies."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.module_utils._cards.hardware import board_of
from ansible_collections.gaudi3.scale.plugins.module_utils._errors import GaudiError
from ansible_collections.gaudi3.scale.plugins.module_utils._fabric.layer3.address_plan import slots_of
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.plan_fabric_kind import INFO, plan_fabric_kind

GIVEN = {"pools": ["10.200.0.0/16"], "hosts": ["n1", "n2"], "mtu": 8000, "priorities": [0, 1], "generation": "gaudi3"}


def answer(first: int, board: str = "0x1060") -> dict[str, Any]:
    """A full server whose switch announces the addresses of a plan that begins at 10.200.0.``first``."""
    found = board_of(board)
    assert found
    slots = slots_of(found)
    names = [f"e{slot.module_id}d{slot.port}" for slot in slots]
    return {
        "boards": [board],
        "ports": [
            {"interface": name, "module_id": slot.module_id, "number": slot.port, "link": True, "addresses": []}
            for name, slot in zip(names, slots)
        ],
        "neighbors": [
            {
                "interface": name,
                "switch": "leaf1",
                "port": f"{first}/{number}",
                "description": f"no-alert 10.200.0.{first + 4 * number + 1}/30",
            }
            for number, name in enumerate(names)
        ],
        "lldp_error": "",
    }


def made(given: dict[str, Any] | None = None, **results: Any) -> Made:
    hosts = {host: {"inventory_hostname": host, **({INFO: one} if one else {})} for host, one in results.items()}
    return plan_fabric_kind(Asked(hosts, {**GIVEN, **(given or {})}, False))


def section(report: Made, title: str) -> dict[str, Any]:
    return next(one for one in report.options["sections"] if one["title"] == title)


def test_plan_cables_and_what_the_switches_need() -> None:
    report = made(n1=answer(1), n2=answer(97))
    assert [row["verdict"] for row in report.options["rows"]] == ["ok", "ok"]
    assert report.options["rows"][0]["links"] == "24/24"
    assert section(report, "For the switches")["rows"][24] == {
        "node": "n2",
        "card": "0",
        "port": "17",
        "address": "10.200.0.97/30",
        "switch": "leaf1",
        "switch port": "97/0",
        "switch address": "10.200.0.98/30",
        "MTU at least": "8000",
        "PFC": "0,1",
        "description": "no-alert 10.200.0.98/30",
    }
    assert report.options["data"]["plan"]["n1"][0]["address"] == "10.200.0.1"
    assert report.outcome["ok"] is True
    assert report.outcome["numbers"] == {"planned_ports": 48, "wrong_cables": 0}


def test_a_wrong_cable_is_in_the_row_of_its_node_and_in_a_sentence() -> None:
    crossed = answer(1)
    one, other = crossed["neighbors"][0], crossed["neighbors"][1]
    one["interface"], other["interface"] = other["interface"], one["interface"]
    report = made(n1=crossed, n2=answer(97))
    assert report.options["rows"][0]["verdict"] == "not ok: 2 swapped"
    assert report.options["notes"] == ["The cables of n1 e0d17 and n1 e0d20 are swapped; exchange them."]
    assert report.outcome["nodes"] == {"n1": "failed", "n2": "ok"}
    assert report.outcome["ok"] is False


def test_nodes_that_do_not_answer_are_planned_and_named() -> None:
    deaf = {**answer(97), "lldp_error": "lldpctl failed: not installed; check `systemctl status lldpd`."}
    report = made({"hosts": ["n1", "n2", "n3", "n4"]}, n1={"unreachable": True, "msg": "timed out"}, n2=deaf, n3=None)
    assert report.outcome["nodes"] == {"n1": "unreachable", "n2": "failed", "n3": "failed"}
    assert report.options["notes"] == [
        "n1: unreachable: timed out",
        "n3: it was not inspected",
        "n2: lldpctl failed: not installed; check `systemctl status lldpd`.",
    ]
    assert len(section(report, "For the switches")["rows"]) == 4 * 24
    assert report.refusal == ""


def test_a_node_that_lies_is_not_listened_to() -> None:
    lies = {**answer(1), "ports": [{"interface": "e" * 300, "module_id": 0, "number": 1, "link": True}]}
    report = made(n1=lies, n2=answer(97))
    assert "n1 answered hpu_fabric_info with an invalid result" in report.options["notes"][0]
    assert report.outcome["nodes"]["n1"] == "failed"


def test_a_description_is_no_template() -> None:
    hostile = answer(1)
    hostile["neighbors"][0]["description"] = "{{ lookup('pipe', 'id') }}\x1b[2J"
    cells = [row["announces"] for row in section(made(n1=hostile, n2=answer(97)), "Cables")["rows"]]
    assert "{{" not in cells[0]
    assert "\x1b" not in cells[0]


def test_a_big_plan_is_on_the_page_alone() -> None:
    hosts = [f"n{number}" for number in range(512)]
    report = made({"hosts": hosts}, n0=answer(1))
    assert len(section(report, "For the switches")["rows"]) == 512 * 24
    assert section(report, "For the switches")["on_screen"] is False


def test_without_pools_only_the_cables_are_shown() -> None:
    report = made({"pools": [], "hosts": []}, n1=answer(1))
    assert [one["title"] for one in report.options["sections"]] == ["Cables"]
    assert report.options["notes"] == ["no addresses are planned: gaudi_fabric_pools is empty"]


@pytest.mark.parametrize(
    ("given", "results", "sentence"),
    [
        ({"pools": ["10.0.0.1/16"]}, {"n1": None}, "'10.0.0.1/16' is an address within a network"),
        ({"hosts": []}, {"n1": None}, "gaudi_fabric_hosts is empty"),
        ({}, {"n1": answer(1), "n2": answer(1, "0x1063")}, r"several kinds \(n1 has 24 ports, n2 has 32 ports\)"),
        ({"generation": "gaudi9"}, {"n1": None}, "gaudi_fabric_generation is 'gaudi9'; give gaudi2 or gaudi3"),
    ],
)
def test_what_makes_no_plan(given: dict[str, Any], results: dict[str, Any], sentence: str) -> None:
    with pytest.raises(GaudiError, match=sentence):
        made(given, **results)


def test_nothing_at_all_is_refused() -> None:
    assert made({"pools": []}, n1={"unreachable": True, "msg": "timed out"}).refusal == "n1: unreachable: timed out"
    assert made({"pools": []}).refusal == "No host was inspected; see gaudi_hosts and --limit."
