# Copyright 2026 The gaudi3.scale authors
# SPDX-License-Identifier: Apache-2.0
"""The report of a measured serving."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.asked import Asked, Made
from ansible_collections.gaudi3.scale.plugins.plugin_utils._results.measure_serving_kind import (
    MEASURED,
    measure_serving_kind,
)
from ansible_collections.gaudi3.scale.plugins.plugin_utils._serving.run_line import run_line

# As a command line has them, and as Ansible does.
GIVEN = {"input_tokens": "512", "output_tokens": 128, "first_token_ms": "0", "between_tokens_ms": 0.0}


def spread(p50: float, p95: float) -> dict[str, float]:
    return {"mean": p50, "p50": p50, "p95": p95, "p99": p95}


def run(clients: int, first: float, failed: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "concurrency": clients,
        "model": "chat",
        "version": "0.26.0",
        "requests": 200,
        "failed": failed,
        "errors": {"status 503": failed} if failed else {},
        "stopped_early": False,
        "seconds": 20.0,
        "requests_per_s": 10.0 * clients,
        "input_tokens_per_s": 5120.0 * clients,
        "output_tokens_per_s": 1280.0 * clients,
        "first_token_ms": spread(first / 2, first),
        "between_tokens_ms": spread(10.0, 20.0),
        "per_token_ms": spread(10.0, 20.0),
        "request_ms": spread(1300.0, 1500.0),
        **more,
    }


def result(*runs: dict[str, Any], highest: int | None = None, is_highest: bool = False) -> dict[str, Any]:
    return {"changed": False, "runs": list(runs), "next": None, "highest_load": highest, "is_highest": is_highest}


def made(results: dict[str, Any], check_mode: bool = False, **given: Any) -> Made:
    hosts = {host: {MEASURED: one} for host, one in results.items()}
    return measure_serving_kind(Asked(hosts, {**GIVEN, **given}, check_mode))


def test_a_row_for_each_run_and_a_curve_for_each_node() -> None:
    report = made({"a": result(run(8, 200.0), run(1, 50.0)), "b": result(run(1, 60.0), run(8, 250.0))})
    assert report.options["title"] == "Serving of chat, 512 + 128 tokens"
    assert [(row["node"], row["clients"]) for row in report.options["rows"]] == [("a", 1), ("a", 8), ("b", 1), ("b", 8)]
    assert (
        report.options["rows"][1] | {"verdict": "ok", "p95": "200", "tokens/s": "10,240"} == report.options["rows"][1]
    )
    first, _between, rate = report.options["charts"]
    assert first["series"][0] == {"label": "a", "points": [[1, 50.0], [8, 200.0]]}
    assert (first["marks"], [one["label"] for one in rate["series"]]) == ([], ["a", "b"])
    assert (report.reasons, report.outcome["ok"]) == ({}, True)
    assert report.outcome["numbers"] == {"output_tokens_per_s": 20480.0}


def test_the_highest_load_is_said_with_its_limit() -> None:
    report = made({"a": result(run(40, 480.0), run(60, 900.0), highest=40)}, first_token_ms=500.0)
    assert report.options["notes"][0] == (
        "a: 40 clients at a time with p95 first token within 500 ms, 400 requests/s and 51,200 tokens/s"
    )
    assert [row["verdict"] for row in report.options["rows"]] == ["ok", "above its limit"]
    assert report.options["charts"][0]["marks"] == [{"axis": "y", "value": 500.0, "label": "limit", "tone": "bad"}]
    assert (report.reasons, report.outcome["numbers"]["highest_load"]) == ({}, 40)


def test_where_more_may_be_possible_it_is_said() -> None:
    report = made({"a": result(run(256, 100.0), highest=256, is_highest=True)}, first_token_ms=500.0)
    assert report.options["notes"][0].startswith("a: at least 256 clients at a time")


def test_a_limit_that_one_client_misses_fails_the_node() -> None:
    report = made({"a": result(run(1, 700.0), highest=0)}, first_token_ms=500.0)
    assert report.reasons == {"a": "One client alone is above the limit."}
    assert report.outcome["nodes"] == {"a": "failed"}


def test_requests_that_failed_fail_the_node_where_no_limit_is_searched() -> None:
    report = made({"a": result(run(1, 50.0), run(8, 50.0, failed=3))})
    assert report.reasons == {"a": "3 of 400 requests failed: status 503."}
    assert report.options["rows"][1]["verdict"] == "failed"


def test_a_node_that_could_not_measure_is_named_beside_the_others() -> None:
    failed = {"failed": True, "msg": "127.0.0.1:8000 does not answer one request: status 503."}
    report = made({"a": result(run(1, 50.0)), "b": failed})
    assert report.reasons == {"b": failed["msg"]}
    assert report.outcome["nodes"] == {"a": "ok", "b": "failed"}


def test_check_mode_has_nothing_to_say() -> None:
    report = made({"a": result() | {"next": 1}}, check_mode=True)
    assert (report.options["rows"], report.reasons) == ([], {})


def test_a_run_in_which_nothing_was_answered_has_no_latency() -> None:
    dead = run(8, 0.0, failed=200, first_token_ms={}, between_tokens_ms={}, per_token_ms={}, request_ms={})
    row = made({"a": result(dead)}).options["rows"][0]
    assert (row["p95"], row["answer p95 (s)"], row["verdict"]) == ("", "", "failed")
    assert run_line(dead).endswith("first token unknown, between tokens unknown, 200 of 200 failed")


@pytest.mark.parametrize("odd", [{"concurrency": "8"}, {"model": "a\x1b[31m"}, {"first_token_ms": {"p95": "inf"}}])
def test_a_node_that_answers_as_none_of_ours_fails_and_no_other(odd: dict[str, Any]) -> None:
    report = made({"a": result(run(1, 50.0, **odd)), "b": result(run(1, 50.0))})
    assert report.reasons is not None
    assert list(report.reasons) == ["a"]
    assert report.reasons["a"].startswith("a answered gaudi3.scale.serving_measurement with an invalid result: runs[0]")
    assert [row["node"] for row in report.options["rows"]] == ["b"]


def test_a_line_for_the_screen() -> None:
    assert run_line(run(8, 200.0)) == (
        "8 clients: 80 requests/s, 10,200 tokens/s, first token p95 200 ms, between tokens p95 20 ms"
    )
    early = run_line(run(1, 900.0, stopped_early=True))
    assert early.startswith("1 client: ") and early.endswith("stopped, since the limit is missed")
