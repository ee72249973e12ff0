# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a measured network: two nodes a line and network, each reason once."""

from __future__ import annotations

from typing import Any

from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.benchmark_fabric_kind import (
    MEASURED,
    benchmark_fabric_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.earlier_failure import NOT_KNOWN

MIB = 1 << 20


def row(provider: str, *speeds: float, why: str = "") -> dict[str, Any]:
    sizes = [{"bytes": MIB * 4**n, "seconds": 0.1, "busbw_gb_per_s": speed} for n, speed in enumerate(speeds)]
    return {"provider": provider, "flags": {"RDMAV_FORK_SAFE": "1"}, "sizes": sizes, "why": why}


def verdict(state: str, partner: str, *rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = {"chosen": "roce", "fastest": "roce", "reason": "", "time": "2026-11-25T06:00:00Z", "cached": False}
    return {**about, "state": state, "partner": partner, "rows": list(rows), **more}


def made(*absent: str, **nodes: Any) -> Made:
    result = {MEASURED: {"nodes": nodes}}
    return benchmark_fabric_kind(Asked(dict.fromkeys((*nodes, *absent), result), {}, False))


def test_a_line_for_each_network_of_two_nodes_and_a_curve() -> None:
    rows = (row("roce", 9.0, 11.25), row("ethernet", 1.0, 1.5))
    report = made(a=verdict("ok", "b", *rows), b=verdict("ok", "a", *rows))
    assert report.options["rows"] == [
        {
            "nodes": "a, b",
            "network": "roce (chosen)",
            "GB/s at 1 MiB": "9",
            "GB/s at 4 MiB": "11.2",
            "flags": "RDMAV_FORK_SAFE=1",
            "verdict": "ok",
        },
        {
            "nodes": "a, b",
            "network": "ethernet",
            "GB/s at 1 MiB": "1",
            "GB/s at 4 MiB": "1.5",
            "flags": "RDMAV_FORK_SAFE=1",
            "verdict": "",
        },
    ]
    (chart,) = report.options["charts"]
    assert chart["series"][0] == {"label": "a, b: roce", "points": [[1.0, 9.0], [4.0, 11.25]]}
    assert report.outcome["nodes"] == {"a": "ok", "b": "ok"}
    assert report.reasons == {}


def test_the_faster_one_is_marked_and_its_advice_told_once() -> None:
    rows = (row("roce", 1.0), row("ethernet", 2.0))
    slower = {"fastest": "ethernet", "reason": "ethernet carried 2 GB/s"}
    report = made(a=verdict("slower", "b", *rows, **slower), b=verdict("slower", "a", *rows, **slower))
    assert [one["verdict"] for one in report.options["rows"]] == ["slower", "fastest"]
    assert report.options["notes"][0] == "a, b: ethernet carried 2 GB/s"


def test_what_was_not_measured_and_what_failed_have_their_line_and_reason() -> None:
    report = made(
        "d",
        a=verdict("not ok", "b", row("roce", why="a: no memory"), reason="a: no memory"),
        b=verdict("not measured", "a", row("roce", why="a: no memory"), reason="the other node's ranks did not start"),
        c=verdict("not measured", "", reason="the training stack is not there yet"),
    )
    assert [(one["nodes"], one["verdict"]) for one in report.options["rows"]] == [
        ("a, b", "not ok"),
        ("c", "not measured"),
        ("d", "not measured"),
    ]
    assert "charts" in report.options
    assert report.options["charts"] == []
    assert report.reasons == {"a": "a: no memory"}
    assert f"d: it was not measured: {NOT_KNOWN}." in report.options["notes"]


def test_what_was_known_says_since_when() -> None:
    report = made(
        a=verdict("ok", "b", row("roce", 1.0), cached=True), b=verdict("ok", "a", row("roce", 1.0), cached=True)
    )
    assert (
        "measured at 2026-11-25T06:00:00Z; gaudi_fabric_benchmark_again: true measures again" in report.options["notes"]
    )
