# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""Clocks of nodes against each other and the controller's, which may itself be the one that is wrong."""

from __future__ import annotations

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.clock_rows import Seen, judge_clocks, seen
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.kinds import KINDS

HOUR = 3600.0


def clock(ahead: float, within: float = 2.0) -> Seen:
    return Seen(ahead - within, ahead + within, 1.0)


@pytest.mark.parametrize(
    ("ahead", "off"),
    [
        ({"n1": 0, "n2": 0}, {}),
        ({"n1": 0, "n2": HOUR}, {"n2": "3600 s ahead of"}),
        ({"n1": 0, "n2": -HOUR}, {"n2": "3600 s behind"}),
        ({"n1": 0, "n2": 0, "n3": 90, "n4": -7200}, {"n3": "90 s ahead of", "n4": "7200 s behind"}),
        # Less than a run over SSH can tell apart.
        ({"n1": 0, "n2": 3}, {}),
    ],
)
def test_whose_clock_is_off_the_most_tell(ahead: dict[str, float], off: dict[str, str]) -> None:
    judged = judge_clocks({node: clock(seconds) for node, seconds in ahead.items()})
    assert list(judged.off) == list(off)
    assert judged.notes == () or judged.notes == []
    for node, words in off.items():
        assert judged.off[node].startswith(
            f"its clock is {words} that of the controller and of the other nodes; set its"
        )


def test_a_controller_whose_clock_is_off_condemns_no_node() -> None:
    judged = judge_clocks({"n1": clock(HOUR), "n2": clock(HOUR), "n3": clock(0)})
    assert judged.off == {}
    judged = judge_clocks({"n1": clock(HOUR), "n2": clock(HOUR), "n3": clock(HOUR)})
    assert judged.off == {}
    assert judged.notes == ["the controller's own clock is 3600 s behind that of most nodes."]


def test_where_nobody_can_tell_which_is_right_no_node_is_condemned() -> None:
    judged = judge_clocks({"n1": clock(HOUR)})
    assert judged.off == {}
    assert judged.notes == ["clocks differ, and it is unknown which is correct: n1 3600 s ahead of the controller's."]


def test_no_clock_at_all() -> None:
    assert judge_clocks({}).off == {}


def test_a_node_that_took_its_time_is_not_off() -> None:
    """It was asked at 100 and had answered at 400; its own work took from 130 to 390."""
    found = seen(100.0, 130.0, 390.0, 400.0, 1.0)
    assert found == Seen(-10.0, 30.0, 1.0)
    assert found.agrees(Seen(0.0, 0.0, 1.0))
    assert not seen(100.0, 3730.0, 3990.0, 400.0, 1.0).agrees(Seen(0.0, 0.0, 1.0))  # type: ignore[union-attr]


@pytest.mark.parametrize("times", [(None, 1.0), (1.0, "now"), (float("nan"), 1.0), (True, 2.0), (5.0, 4.0)])
def test_what_is_no_time_is_none(times: tuple[object, object]) -> None:
    assert seen(0.0, *times, 10.0, 1.0) is None


def test_the_verdict_says_it() -> None:
    def node(name: str, ahead: float) -> dict[str, object]:
        told = {"low": ahead - 2, "high": ahead + 2, "limit": 1.0}
        result = {"summary": {"ok": True, "problems": 0}, "controller_clock": told}
        return {"inventory_hostname": name, "gaudi_verify_result": result}

    hosts = {name: node(name, ahead) for name, ahead in (("n1", 0.0), ("n2", HOUR), ("n3", 0.5))}
    made = KINDS["verdict"].made(Asked(hosts, {}, False))
    assert made.outcome["nodes"] == {"n1": "ok", "n2": "not ok: clock", "n3": "ok"}
    assert made.options["notes"][0].startswith(
        "n2: its clock is 3600 s ahead of that of the controller and of the other"
    )
