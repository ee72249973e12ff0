# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The report of measured collectives, from what rank 0 told, which may be anything."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.measure_collectives_kind import (
    MEASURED,
    measure_collectives_kind,
)

MIB = 1 << 20


def line(name: str, size: int, busbw: float, **more: Any) -> dict[str, Any]:
    about = {"kind": "collective", "collective": name, "bytes": size, "seconds": 0.0021, "algbw_gb_per_s": 16.0}
    told = {"repeats": 400, "world_size": 16, "nodes": 2, "device": "hpu", "dtype": "float32", "time": 1.5}
    return {**about, **told, "busbw_gb_per_s": busbw, **more}


LINES = [line("all_reduce", MIB, 20.0), line("all_reduce", 32 * MIB, 30.0), line("broadcast", 32 * MIB, 16.0)]


def made(lines: Any, floors: dict[str, float] | None = None, failure: str = "") -> Made:
    hosts = {"a": {MEASURED: {"metrics": lines}}, "b": {MEASURED: {"skipped": True}}}
    return measure_collectives_kind(Asked(hosts, {"floors": floors or {}, "failure": failure}, False))


def test_a_line_for_each_size_and_a_curve_for_each_collective() -> None:
    report = made([{"kind": "start"}, *LINES])
    assert report.options["title"] == "Collectives over 16 ranks on 2 nodes (hpu, float32)"
    assert report.options["rows"][1] == {
        "collective": "all_reduce",
        "bytes": 32 * MIB,
        "calls": 400,
        "time (us)": "2,100",
        "algbw (GB/s)": "16",
        "busbw (GB/s)": "30",
        "verdict": "",
    }
    (chart,) = report.options["charts"]
    assert [one["label"] for one in chart["series"]] == ["all_reduce", "broadcast"]
    assert chart["series"][0]["points"] == [[1.0, 20.0], [32.0, 30.0]]
    assert report.outcome["numbers"] == {"all_reduce_gb_per_s": 30.0, "broadcast_gb_per_s": 16.0}
    assert (report.refusal, report.outcome["ok"]) == ("", True)


def test_a_floor_counts_at_the_largest_size() -> None:
    report = made(LINES, {"all_reduce": 25.0, "broadcast": 20.0})
    assert [row["verdict"] for row in report.options["rows"]] == ["", "ok", "below 20"]
    assert report.refusal == "broadcast carried 16 GB/s at 33,554,432 bytes, below the minimum of 20."
    assert report.outcome["nodes"] == {"a": "below its minimum", "b": "below its minimum"}


def test_what_was_measured_before_a_rank_failed_is_shown() -> None:
    report = made(LINES[:1], {"broadcast": 20.0}, "rank 9 on b failed first: 3 wrong values")
    assert len(report.options["rows"]) == 1
    assert report.refusal.startswith("rank 9 on b failed first: 3 wrong values broadcast was not measured")
    assert report.outcome["ok"] is False


@pytest.mark.parametrize("lines", [[], [{"kind": "collective"}], [line("{{ 1 }}", -1, 1.0)], None, "x"])
def test_what_no_rank_of_ours_tells_is_nothing_measured(lines: Any) -> None:
    report = made(lines)
    assert (report.options["rows"], report.options["charts"]) == ([], [])
    assert report.refusal == "Nothing was measured."
